// The fields of one queue in a what-if: a slider for its weight, amounts for its guarantee and ceiling.

import { h } from "./dom.js";
import { measure } from "./bars.js";
import { amountOf, precisely, resourceWord } from "./units.js";

/**
 * @param {object} queue its row
 * @param {string[]} resources
 * @param {Map<string, string>} values what the address says already, by path
 * @param {(path: string, value: string) => void} onChange "" takes a change back
 */
export function newQueueFields(queue, resources, values, onChange) {
  const path = `queue/${queue.name}.weight`;
  const start = values.get(path) ?? String(queue.weight);
  const most = Math.max(10, queue.weight * 4, Number(start) || 0);
  const number = h("input", { type: "number", min: "1", max: "65535", value: start, "aria-label": `Weight of ${queue.name}` });
  const slider = h("input", { type: "range", min: "1", max: most, value: start, "aria-label": `Weight of ${queue.name}, slider` });
  const take = (from, to) => () => {
    to.value = from.value;
    onChange(path, from.value === String(queue.weight) ? "" : from.value);
  };
  slider.addEventListener("input", take(slider, number));
  number.addEventListener("input", take(number, slider));
  return h("fieldset", { "data-queue": queue.name }, h("legend", {}, queue.name),
    h("div.weight", {}, h("span", {}, "weight"), slider, number, h("span.quiet", {}, `now ${queue.weight}`)),
    resources.map((resource) => h("div.amounts", {},
      h("span", {}, resourceWord(resource)),
      amountField(queue, resource, "guarantee", "guarantee.resource", values, onChange),
      amountField(queue, resource, "ceiling", "capability", values, onChange))));
}

function amountField(queue, resource, word, field, values, onChange) {
  const path = `queue/${queue.name}.${field}.${resource}`;
  const now = measure(queue, resource)[field === "capability" ? "capability" : "guarantee"];
  const input = h("input", {
    value: values.get(path) ?? "", placeholder: now === null ? "none" : precisely(resource, now), spellcheck: "false", autocomplete: "off",
    oninput: () => {
      const bad = input.value !== "" && Number.isNaN(amountOf(resource, input.value));
      input.setCustomValidity(bad ? "Write an amount such as 8, 500m or 64Gi." : "");
      input.toggleAttribute("aria-invalid", bad);
      if (!bad) onChange(path, input.value);
    },
  });
  return h("label", {}, h("span.quiet", {}, word), input);
}
