// The answer to a what-if: the tree as it is beside the tree as it would be, who is evicted, what changes for jobs.

import { dominant, legend, measure, newBar } from "./bars.js";
import { button, headOf } from "./controls.js";
import { announce, fill, h } from "./dom.js";
import { childrenOf, linesOf, resourcesOf, ROOT } from "./queue_order.js";
import { address, queueAddress } from "./route.js";
import { counted, duration, moment, resourceWord, roughly, seconds } from "./units.js";

const ALL_LINES = 40; // beyond this many queues only those that change are shown, and what is above them
const MOST = 100;
const ROUNDING_S = 1; // pods start at whole seconds, decisions are made in between

let chosenResource = "";

export function showAnswer(place, answer) {
  const before = byName(answer.before);
  const after = byName(answer.after);
  fill(place,
    (answer.warnings ?? []).map((one) => h("p.warning", {}, one)),
    h("p.headline", {}, headline(answer)),
    trees(before, after, () => showAnswer(place, answer)), legend(),
    evictions(answer.evictions ?? []), jobs(answer.jobs ?? []), yaml(answer));
}

const byName = (rows) => new Map((rows ?? []).map((row) => [row.name, row]));

function headline({ evictions: gone = [], jobs: changed = [] }) {
  const starts = changed.filter((one) => one.runningAfter > one.runningBefore).length;
  const less = changed.filter((one) => one.runningAfter < one.runningBefore).length;
  return `${counted(gone.length, "pod")} would be evicted; ${counted(starts, "job")} would have more pods running, ${less} fewer.`;
}

function trees(before, after, redraw) {
  const all = new Map([...before, ...after]);
  const resources = resourcesOf(all);
  const children = childrenOf(all);
  const differs = (name) => JSON.stringify(before.get(name)?.resources) !== JSON.stringify(after.get(name)?.resources);
  let lines = linesOf(all, children, new Set(), "");
  if (lines.length > ALL_LINES) {
    const kept = new Set();
    for (const name of all.keys()) if (differs(name)) for (let one = name; one && !kept.has(one); one = all.get(one)?.parent) kept.add(one);
    lines = lines.filter((line) => kept.has(line.name) || line.name === ROOT).slice(0, MOST);
  }
  const select = h("select", { "aria-label": "Resource", onchange: () => {
    chosenResource = select.value;
    redraw();
  } }, h("option", { value: "" }, "dominant"), resources.map((one) => h("option", { value: one }, resourceWord(one))));
  select.value = resources.includes(chosenResource) ? chosenResource : "";
  const roots = [before.get(ROOT), after.get(ROOT) ?? before.get(ROOT)];
  const rows = lines.map((line) => {
    const [was, would] = [before.get(line.name), after.get(line.name)];
    const resource = select.value || dominant(would ?? was, roots[1], resources);
    const scale = Math.max(measure(roots[0], resource).deserved, measure(roots[1], resource).deserved);
    const cell = (queue) => {
      const bar = newBar();
      bar.show(resource, measure(queue, resource), scale);
      return h("td.graph", {}, queue ? bar.element : h("span.quiet", {}, "not there"));
    };
    const difference = measure(would, resource).deserved - measure(was, resource).deserved;
    return h(`tr${differs(line.name) ? ".changed" : ""}`, {},
      h("th", { scope: "row", title: line.name, style: { "--level": line.level - 1 } }, h("a", { href: queueAddress(line.name) }, line.name)),
      cell(was), cell(would), h("td", {}, resourceWord(resource)),
      h("td.number", {}, roughly(resource, measure(was, resource).deserved)), h("td.number", {}, roughly(resource, measure(would, resource).deserved)),
      h("td.number", {}, difference ? `${difference > 0 ? "+" : "−"}${roughly(resource, Math.abs(difference))}` : ""),
      h("td.number", {}, roughly(resource, measure(would, resource).used)));
  });
  return [h("h2", {}, "The tree ", select), h("div.scroll", { tabindex: "0", role: "region", "aria-label": "The tree as it is and as it would be" }, h("table.beside", {},
    headOf("Queue", "as it is", "as it would be", "resource", "#deserves", "#would deserve", "#change", "#would use"),
    h("tbody", {}, rows)))];
}

function evictions(all) {
  if (!all.length) return null;
  return [h("h2", {}, "Evictions"), h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Evictions" }, h("table", {}, headOf("Pod", "Queue", "why"), h("tbody", {}, all.slice(0, MOST).map((one) =>
    h("tr", {}, h("th", { scope: "row" }, one.pod), h("td.wraps", {}, one.queue), h("td.sentence", {}, one.why || one.action)))))), more(all)];
}

function jobs(all) {
  const changed = all.filter((one) => one.runningBefore !== one.runningAfter || one.waitingBefore !== one.waitingAfter || one.evicted || startDiffers(one));
  if (!changed.length) return h("p.quiet", {}, "No job changes.");
  return [h("h2", {}, "Jobs that change"), h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Jobs that change" }, h("table", {}, headOf("Job", "Queue", "#running", "#waiting", "#evicted", "start", "reason"), h("tbody", {}, changed.slice(0, MOST).map((one) => {
    const [namespace, name] = one.group.split(/\/(.*)/s);
    return h("tr", {}, h("th", { scope: "row" }, h("a", { href: address("job", ["podgroup", namespace, name ?? ""]) }, one.job || one.group)), h("td.wraps", {}, one.queue),
      h("td.number", {}, step(one.runningBefore, one.runningAfter)), h("td.number", {}, step(one.waitingBefore, one.waitingAfter)), h("td.number", {}, one.evicted ? String(one.evicted) : ""),
      h("td.wraps", {}, startStep(one)), h("td.sentence", {}, one.reason ?? ""));
  })))), more(changed)];
}

/** Whether a planned start moves by more than rounding can explain. */
function startDiffers({ startBefore, startAfter }) {
  const [was, would] = [seconds(startBefore), seconds(startAfter)];
  return was === null || would === null ? was !== would : Math.abs(was - would) > ROUNDING_S;
}

const more = (all) => all.length > MOST && h("p.quiet", {}, `${all.length - MOST} more.`);
const step = (was, would) => (was === would ? String(was) : `${was} → ${would}`);

function startStep({ startBefore, startAfter }) {
  const [was, would] = [seconds(startBefore), seconds(startAfter)];
  if (was === null && would === null) return "";
  const said = (at) => (at === null ? "unknown" : moment(at));
  const gain = was !== null && would !== null && Math.abs(was - would) > ROUNDING_S ? ` (${duration(Math.abs(was - would))} ${would < was ? "earlier" : "later"})` : "";
  return was === would ? said(was) : `${said(was)} → ${said(would)}${gain}`;
}

function yaml(answer) {
  const commands = (answer.commands ?? []).join("\n");
  const block = (text, label) => h("div.copy", {},
    button("Copy", async (event) => {
      try {
        await navigator.clipboard.writeText(text); // not there where the page came without TLS from another machine
        event.target.textContent = "Copied";
        announce("Copied.");
      } catch {
        getSelection().selectAllChildren(event.target.nextElementSibling);
        announce("It is selected: copy it with the keyboard.");
      }
    }, { "aria-label": `Copy ${label}` }),
    h("pre.lines", { tabindex: "0", "aria-label": label }, text));
  return [
    answer.yaml && [h("h2", {}, "The change as YAML"), block(answer.yaml, "YAML")],
    commands && [h("h2", {}, "Commands"), block(commands, "commands")],
  ];
}
