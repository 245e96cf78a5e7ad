// Labelled fields above lists; each reports every change and starts with what the address says.

import { h } from "./dom.js";

let fields = 0;

/** A field with its label above it. */
function labelled(label, field) {
  field.id ||= `field-${++fields}`;
  return h("div.field", {}, h("label", { for: field.id }, label), field);
}

/** @param {[string, string][]} options value and text */
export function choice(label, value, options, onChange) {
  const field = h("select", { onchange: () => onChange(field.value) });
  const control = {
    element: labelled(label, field),
    setOptions(next) {
      const key = JSON.stringify(next);
      if (control.key === key) return;
      control.key = key;
      const kept = field.value || value;
      field.replaceChildren(...next.map(([one, text]) => h("option", { value: one }, text)));
      if (!next.some(([one]) => one === kept) && kept) field.append(h("option", { value: kept }, kept));
      field.value = kept;
    },
    get value() {
      return field.value;
    },
  };
  control.setOptions(options);
  field.value = value;
  return control;
}

export function textField(label, value, onChange, attributes = {}) {
  const field = h("input", { type: "search", value, spellcheck: "false", autocomplete: "off", ...attributes, oninput: () => onChange(field.value) });
  return { element: labelled(label, field), field };
}

export function button(text, onClick, attributes = {}) {
  return h("button", { type: "button", ...attributes, onclick: onClick }, text);
}

/** Ask for something after the last change in a row. */
export function afterPause(work, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}

/** The headings of a table; `#` stands before those of numbers. */
export const headOf = (...texts) => h("thead", {}, h("tr", {}, texts.map((text) => h(text.startsWith("#") ? "th.number" : "th", { scope: "col" }, text.replace("#", "")))));

/** A heading with its facts beside it. */
export function heading(text, ...beside) {
  return h("div.heading", {}, h("h1", { tabindex: "-1" }, text), ...beside);
}

/** The sentences of a refusal. */
export function problemOf(error) {
  return h("div.problem", { role: "alert" }, (error.sentences ?? [error.message]).map((one) => h("p", {}, one)));
}

/** A drawing that a narrow screen shows a part of, to be scrolled with a finger or the keyboard. */
export function scrolling(drawn, label) {
  return h("div.drawn", { tabindex: "0", role: "region", "aria-label": label }, drawn);
}

/** Lines of an explanation, as wide as a terminal; a style is `bold`, `dim` or a colour of terminals. */
export function textLines(lines, label) {
  return h("pre.lines", { tabindex: "0", role: "region", "aria-label": label }, lines.map((one) =>
    [one.style ? h(`span.${one.style.split(" ").join(".")}`, {}, one.text) : one.text, "\n"]));
}
