// Nodes: how full they are, with what, and into how many pieces the free room is broken.

import { choice, headOf, heading, problemOf, textField } from "./controls.js";
import { fill, fillWhenChanged, h, oncePerFrame, s, setAttribute, setShown, setText } from "./dom.js";
import { choose, queueAddress, route } from "./route.js";
import { store } from "./store.js";
import { amountOf, amounts, counted, percent, resourceWord, roughly } from "./units.js";
import { windowed } from "./windowed.js";
import { fits, freeOf, isUsable, shapesOf, STEPS, totals } from "./free_room.js";

const COLOURS = 7; // queues with a colour and a pattern of their own; all others share the last
const COLUMNS = [["name", "Node"], ["graph", "used, by queue"], ["used", "used"], ["allocatable", "of"], ["free", "free"], ["pods", "pods"], ["state", "State"]];

export function openNodes(main) {
  const { choices } = route();
  const state = { resource: choices.get("resource") || "cpu", filter: choices.get("filter") ?? "", shape: choices.get("shape") ?? "" };
  const set = (name, value) => {
    state[name] = value;
    choose({ [name]: value });
    arrange();
  };
  const resource = choice("Resource", state.resource, [["cpu", "CPU"], ["memory", "memory"]], (value) => set("resource", value));
  const filter = textField("Nodes named", state.filter, (value) => set("filter", value), { placeholder: "filter" });
  const shape = textField("Would pods of this size fit?", state.shape, (value) => set("shape", value), { placeholder: "cpu=4,memory=16Gi" });
  const summary = h("p.summary", { role: "status" });
  const tiles = h("div.tiles");
  const legend = h("ul.legend", { "aria-label": "Queues by colour" });
  const free = newFreeRoom();
  const grid = h("div.grid.nodes", { role: "grid", tabindex: "0", "aria-label": "Nodes", "aria-readonly": "true" },
    h("div", { role: "rowgroup", class: "head" }, h("div.row", { role: "row", "aria-rowindex": "1" }, COLUMNS.map(([name, text]) => h(`span.${name}`, { role: "columnheader" }, text)))));
  main.replaceChildren(heading("Nodes", summary), tiles, h("div.controls", {}, resource.element, filter.element, shape.element), free.element, legend, grid);
  const list = windowed({ grid, newRow: newNodeRow, keyOf: (item) => item.node.name });

  const arrange = oncePerFrame(() => {
    const all = [...store.nodes.values()];
    const names = new Set(all.flatMap((one) => Object.keys(one.allocatable)));
    names.delete("pods");
    resource.setOptions([...names].sort().map((one) => [one, resourceWord(one)]));
    const chosen = names.has(state.resource) ? state.resource : "cpu";
    const colours = coloursOf(all, chosen);
    const wanted = state.filter.toLowerCase();
    const shown = all.filter((one) => !wanted || one.name.toLowerCase().includes(wanted)).sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
    list.setItems(shown.map((node) => ({ node, resource: chosen, colours })));
    const out = all.filter((one) => !isUsable(one)).length;
    setText(summary, store.isLoaded("nodes") ? `${counted(all.length, "node")}${out ? `, ${out} of them ${out === 1 ? "takes" : "take"} no new pods` : ""}` : "loading …");
    showTiles(tiles, all, [...names].sort());
    showLegend(legend, colours);
    free.show(all, chosen, state.shape);
  });
  arrange();
  const stop = store.subscribe(arrange);
  store.need("queues", "nodes", "jobs").catch((error) => main.append(problemOf(error)));
  return {
    title: "Nodes",
    close() {
      stop();
      list.close();
    },
  };
}

/** The colour of each queue: the largest users have their own. */
function coloursOf(nodes, resource) {
  const used = new Map();
  for (const node of nodes) {
    for (const [queue, amount] of Object.entries(node.byQueue ?? {})) used.set(queue, (used.get(queue) ?? 0) + (amount[resource] ?? 0));
  }
  const order = [...used].filter(([queue, amount]) => queue && amount > 0).sort(([a, more], [b, less]) => less - more || a.localeCompare(b));
  return new Map(order.map(([queue], index) => [queue, Math.min(index, COLOURS)]));
}

function showTiles(place, nodes, names) {
  fill(place, names.map((name) => {
    const { allocatable, used } = totals(nodes, name);
    if (!allocatable) return null;
    return h("div.tile", {}, h("span.quiet", {}, resourceWord(name)), h("strong", {}, percent(used / allocatable)),
      h("span.meter", { "aria-hidden": "true" }, h("span", { style: { width: `${Math.min(100, (100 * used) / allocatable)}%` } })),
      h("span.quiet", {}, `${roughly(name, used)} of ${roughly(name, allocatable)}`));
  }));
}

function showLegend(place, colours) {
  const own = [...colours].filter(([, colour]) => colour < COLOURS);
  fillWhenChanged(place, [...colours], () => [own.map(([queue, colour]) => h("li", {}, h("span.bar.swatch", { "aria-hidden": "true" }, h(`span.part.q${colour}`)), h("a", { href: queueAddress(queue) }, queue))),
    colours.size > own.length && h("li", {}, h("span.bar.swatch", { "aria-hidden": "true" }, h(`span.part.q${COLOURS}`)), counted(colours.size - own.length, "other")),
    h("li", {}, h("span.bar.swatch", { "aria-hidden": "true" }, h("span.part.unknown")), "pods without a queue")]);
}

/** The free room of one resource: how it is spread over nodes, and how many pods of usual sizes fit into it. */
function newFreeRoom() {
  const said = h("p");
  const problem = h("p.problem", { hidden: true }, "Write a size as cpu=4,memory=16Gi.");
  const drawn = h("div");
  const body = h("tbody");
  return {
    element: h("section.card", { "aria-label": "Free room" }, h("h2", {}, "Free room and its pieces"), said, problem,
      h("div.columns.room", {}, drawn, h("div.scroll", { tabindex: "0", role: "region", "aria-label": "How many more pods fit" },
        h("table.numbers", {}, headOf("Pod", "like", "#fit now", "#if in one piece", "#of that"), body)))),
    show(nodes, resource, text) {
      const usable = nodes.filter(isUsable);
      const rooms = usable.map((one) => freeOf(one, resource));
      const total = rooms.reduce((sum, one) => sum + one, 0);
      setText(said, total > 0
        ? `Free: ${roughly(resource, total)} ${resourceWord(resource)} on ${counted(rooms.filter((one) => one > 0).length, "node")}; the largest piece is ${roughly(resource, Math.max(...rooms))}.`
        : `No ${resourceWord(resource)} is free.`);
      const own = parsed(text);
      setShown(problem, Boolean(text.trim()) && !own);
      const counts = countsOf(usable, resource);
      fillWhenChanged(drawn, [counts, resource], () => histogram(counts, resource));
      const shapes = [...(own ? [{ request: own, text: "the size above" }] : []), ...shapesOf([...store.jobs.values()], usable)];
      const rows = shapes.map((shape) => ({ ...shape, ...fits(usable, shape.request) }));
      fillWhenChanged(body, rows, () => rows.map(({ request, text: like, now, together }) => h("tr", {}, h("th", { scope: "row" }, amounts(request)), h("td", {}, like),
        h("td.number", {}, String(now)), h("td.number", {}, String(together)), h("td.number", {}, together ? percent(now / together) : "–"))));
    },
  };
}

function parsed(text) {
  if (!text.trim()) return null;
  const request = {};
  for (const part of text.split(",")) {
    const [name, amount = ""] = part.split("=").map((one) => one.trim());
    request[name] = amountOf(name, amount);
    if (!name || !(request[name] > 0)) return null;
  }
  return request;
}

/** How many nodes have how much free, in eight steps of a node. */
function countsOf(nodes, resource) {
  const counts = new Array(STEPS + 1).fill(0);
  for (const node of nodes) {
    const whole = node.allocatable[resource] ?? 0;
    if (whole > 0) counts[Math.min(STEPS, Math.ceil((freeOf(node, resource) / whole) * STEPS))] += 1;
  }
  return counts;
}

function histogram(counts, resource) {
  const most = Math.max(1, ...counts);
  const label = (step) => (step === 0 ? "full" : step === STEPS ? "empty" : `${Math.round((100 * step) / STEPS)} %`);
  const width = 46;
  return s("svg.histogram", { viewBox: `0 0 ${(STEPS + 1) * width} 130`, role: "img", "aria-label": `Nodes by free ${resourceWord(resource)}: ${counts.map((one, step) => `${label(step)} ${one}`).join(", ")}` },
    counts.map((count, step) => s("g", {},
      s("rect", { x: step * width + 5, y: 100 - (80 * count) / most, width: width - 10, height: Math.max(count ? 2 : 0, (80 * count) / most) }),
      s("text.mid", { x: (step + 0.5) * width, y: 95 - (80 * count) / most }, count ? String(count) : ""),
      s("text.mid", { x: (step + 0.5) * width, y: 118 }, label(step)))),
    s("path.axis", { d: `M0 100H${(STEPS + 1) * width}` }));
}

function newNodeRow() {
  const cells = Object.fromEntries(COLUMNS.map(([name]) => [name, h(`span.${name}`, { role: "gridcell" })]));
  const bar = h("span.bar.stacked", { role: "img" });
  cells.graph.append(bar);
  let shown = "";
  return {
    element: h("div", {}, Object.values(cells)),
    show({ node, resource, colours }) {
      const whole = node.allocatable[resource] ?? 0;
      const used = node.used[resource] ?? 0;
      setText(cells.name, node.name);
      setAttribute(cells.name, "title", [node.name, ...Object.values(node.labels ?? {})].join(" · "));
      setText(cells.used, roughly(resource, used));
      setText(cells.allocatable, roughly(resource, whole));
      setText(cells.free, roughly(resource, Math.max(0, whole - used)));
      setText(cells.pods, String(node.pods));
      const word = !node.ready ? "not ready" : !node.schedulable ? "no new pods" : node.taints?.length ? counted(node.taints.length, "taint") : "ready";
      setText(cells.state, word);
      setAttribute(cells.state, "title", (node.taints ?? []).map((one) => (typeof one === "string" ? one : `${one.key}=${one.value ?? ""}:${one.effect}`)).join(", ") || null);
      const key = JSON.stringify([node.byQueue, whole, used, resource, [...colours]]);
      if (key === shown) return;
      shown = key;
      const parts = Object.entries(node.byQueue ?? {}).map(([queue, amount]) => [queue, amount[resource] ?? 0]).filter(([queue, amount]) => queue && amount > 0);
      parts.sort(([a], [b]) => (colours.get(a) ?? 9) - (colours.get(b) ?? 9) || a.localeCompare(b));
      const unknown = used - parts.reduce((sum, [, amount]) => sum + amount, 0);
      const piece = (name, amount, title) => h(`span.part.${name}`, { title, style: { width: `${whole ? (100 * amount) / whole : 0}%` } });
      bar.replaceChildren(...parts.map(([queue, amount]) => piece(`q${colours.get(queue) ?? COLOURS}`, amount, `${queue}: ${roughly(resource, amount)}`)), ...(unknown > 0 ? [piece("unknown", unknown, `without a queue: ${roughly(resource, unknown)}`)] : []));
      setAttribute(bar, "aria-label", `${percent(whole ? used / whole : 0)} used${parts.length ? `: ${parts.map(([queue, amount]) => `${queue} ${roughly(resource, amount)}`).join(", ")}` : ""}`);
      setShown(bar, whole > 0);
    },
  };
}
