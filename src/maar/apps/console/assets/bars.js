// The bar of a queue: its length is what the queue deserves, filled by what it uses.
//
//   |█████████████▒▒▒▒▒▒......|         used, of that being freed ▒, reserved and idle, idle
//   |███████████████████|//////|        used beyond deserved: on loan
//        ▴ guarantee            ▏ceiling
//
// Everything is a part of the scale: the cluster, or the parent's deserved. Positions are set through CSSOM as
// percentages, so a bar needs no layout of its own when numbers change.

import { h, setAttribute, setShown } from "./dom.js";
import { precisely, resourceWord, roughly } from "./units.js";

/** A queue without numbers for a resource has none of it. */
const NOTHING = { guarantee: null, softGuarantee: null, capability: null, realCapability: null, deserved: 0, used: 0, allocated: 0, preempting: 0 };

export const measure = (queue, resource) => queue?.resources[resource] ?? NOTHING;

/** The resource of which a queue uses (or, where it uses nothing, deserves) the largest part of the cluster. */
export function dominant(queue, root, resources) {
  let best = resources[0] ?? "cpu";
  for (const field of ["used", "deserved"]) {
    let most = 0;
    for (const resource of resources) {
      const total = measure(root, resource).deserved;
      const part = total > 0 ? measure(queue, resource)[field] / total : 0;
      if (part > most) [best, most] = [resource, part];
    }
    if (most > 0) break;
  }
  return best;
}

/** The parts of a bar, each from 0 to 1 of the scale. */
export function partsOf(amount, scale) {
  const part = (value) => (scale > 0 ? Math.max(0, Math.min(1, value / scale)) : 0);
  const { deserved, used } = amount;
  const guarantee = amount.guarantee ?? 0;
  const freed = Math.min(amount.preempting ?? 0, used);
  return {
    deserved: part(deserved),
    used: part(Math.min(used, deserved)),
    loan: [part(deserved), part(Math.max(used, deserved))],
    reserved: [part(Math.min(used, deserved)), part(Math.max(Math.min(used, deserved), Math.min(guarantee, deserved)))],
    freed: [part(used - freed), part(used)],
    guarantee: amount.guarantee === null ? null : part(guarantee),
    ceiling: amount.capability === null ? null : part(amount.capability),
    isBeyond: scale > 0 && Math.max(used, deserved) > scale,
  };
}

/** An empty bar; `show` draws an amount into it. */
export function newBar() {
  const piece = (name) => h(`span.${name}`);
  const pieces = Object.fromEntries(["deserved", "used", "loan", "reserved", "freed", "guarantee", "ceiling"].map((name) => [name, piece(name)]));
  const element = h("span.bar", { role: "img" }, Object.values(pieces));
  let shown = "";
  return {
    element,
    /** @param {string} resource @param {object} amount @param {number} scale amount that fills the width */
    show(resource, amount, scale) {
      const key = JSON.stringify([resource, amount, scale]);
      if (key === shown) return;
      shown = key;
      const parts = partsOf(amount, scale);
      span(pieces.deserved, 0, parts.deserved);
      span(pieces.used, 0, parts.used);
      span(pieces.loan, ...parts.loan);
      span(pieces.reserved, ...parts.reserved);
      span(pieces.freed, ...parts.freed);
      mark(pieces.guarantee, parts.guarantee);
      mark(pieces.ceiling, parts.ceiling);
      const text = sentence(resource, amount);
      setAttribute(element, "aria-label", text);
      setAttribute(element, "title", text);
    },
  };
}

function span(element, from, to) {
  const shown = to > from;
  setShown(element, shown);
  if (shown) {
    element.style.setProperty("left", `${(from * 100).toFixed(3)}%`);
    element.style.setProperty("width", `${((to - from) * 100).toFixed(3)}%`);
  }
}

function mark(element, at) {
  setShown(element, at !== null);
  if (at !== null) element.style.setProperty("left", `${(at * 100).toFixed(3)}%`);
}

/** A bar in words, for screen readers and as a tooltip. */
export function sentence(resource, amount) {
  const { deserved, used, guarantee, softGuarantee, capability, preempting } = amount;
  const said = (value) => roughly(resource, value);
  const parts = [`${resourceWord(resource)}: uses ${said(used)} of ${said(deserved)} deserved`];
  if (used > deserved) parts.push(`${said(used - deserved)} on loan`);
  if (guarantee !== null && guarantee > used) parts.push(`${said(Math.min(guarantee, deserved) - Math.min(used, deserved))} reserved and idle`);
  if (preempting) parts.push(`${said(preempting)} being freed`);
  if (guarantee !== null) parts.push(`guarantee ${precisely(resource, guarantee)}`);
  if (softGuarantee !== null) parts.push(`soft guarantee ${precisely(resource, softGuarantee)}`);
  if (capability !== null) parts.push(`ceiling ${precisely(resource, capability)}`);
  return parts.join(", ");
}

/** What the parts of a bar look like, in words. */
export function legend() {
  const entry = (name, text) => h("li", {}, h("span.bar.swatch", { "aria-hidden": "true" }, h(`span.${name}`)), text);
  return h("ul.legend", { "aria-label": "What the bars show" },
    entry("used", "used"), entry("deserved", "deserved, idle"), entry("reserved", "reserved (guarantee), idle"),
    entry("loan", "on loan, beyond deserved"), entry("freed", "being freed"), entry("guarantee", "guarantee"), entry("ceiling", "ceiling"));
}
