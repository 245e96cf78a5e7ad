// The fields of one queue in a what-if: a slider for its weight, amounts for its guarantees and ceiling.

import { h, setAttribute, setText } from "./dom.js";
import { measure } from "./bars.js";
import { amountOf, precisely, resourceWord } from "./units.js";

/**
 * @param {object} queue its row
 * @param {string[]} resources
 * @param {Map<string, string>} values what is changed, by path
 * @param {(path: string, value: string) => void} onChange "" takes a change back
 * @returns the element, and `show` for a newer row: a change is a change of what the queue has now
 */
export function newQueueFields(queue, resources, values, onChange) {
  const path = `queue/${queue.name}.weight`;
  let present = queue.weight;
  const start = values.get(path) ?? String(present);
  const most = Math.max(10, present * 4, Number(start) || 0);
  const number = h("input", { type: "number", min: "1", max: "65535", value: start, "aria-label": `Weight of ${queue.name}` });
  const slider = h("input", { type: "range", min: "1", max: most, value: start, "aria-label": `Weight of ${queue.name}, slider` });
  const now = h("span.quiet");
  const take = (from, to) => () => {
    to.value = from.value || present;
    onChange(path, from.value === String(present) ? "" : from.value);
  };
  slider.addEventListener("input", take(slider, number));
  number.addEventListener("input", take(number, slider));
  const amounts = resources.map((resource) => [
    amountField(queue.name, resource, "guarantee", "guarantee.resource", values, onChange),
    amountField(queue.name, resource, "soft guarantee", "deserved", values, onChange),
    amountField(queue.name, resource, "ceiling", "capability", values, onChange)]);
  const show = (row) => {
    present = row.weight;
    setText(now, `now ${present}`);
    if (!values.has(path) && document.activeElement !== number) number.value = slider.value = present;
    for (const one of amounts.flat()) one.show(row);
  };
  show(queue);
  return {
    element: h("fieldset", {}, h("legend", {}, queue.name),
      h("div.weight", {}, h("span", {}, "weight"), slider, number, now),
      resources.map((resource, index) => h("div.amounts", {}, h("span", {}, resourceWord(resource)), amounts[index].map((one) => one.element)))),
    show,
  };
}

const MEASURES = { guarantee: "guarantee", "soft guarantee": "softGuarantee", ceiling: "capability" };

function amountField(queue, resource, word, field, values, onChange) {
  const path = `queue/${queue}.${field}.${resource}`;
  const input = h("input", {
    value: values.get(path) ?? "", "aria-label": `${resourceWord(resource)} ${word} of ${queue}`, spellcheck: "false", autocomplete: "off",
    oninput: () => {
      const bad = input.value !== "" && Number.isNaN(amountOf(resource, input.value));
      input.setCustomValidity(bad ? "Write an amount such as 8, 500m or 64Gi." : "");
      input.toggleAttribute("aria-invalid", bad);
      if (!bad) onChange(path, input.value);
    },
  });
  return {
    element: h("label", {}, h("span.quiet", {}, word), input),
    show(row) {
      const now = measure(row, resource)[MEASURES[word]];
      setAttribute(input, "placeholder", now === null ? "none" : precisely(resource, now));
    },
  };
}
