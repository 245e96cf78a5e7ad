// The tree of queues, live: a line for each queue with its bar and its numbers.

import { dominant, legend, measure, newBar } from "./bars.js";
import { button, choice, heading, textField } from "./controls.js";
import { fillWhenChanged, h, setAttribute, setShown, setText } from "./dom.js";
import { childrenOf, linesOf, pathOf, resourcesOf, ROOT } from "./queue_order.js";
import { choose, queueAddress, route } from "./route.js";
import { store } from "./store.js";
import { counted, percent, resourceWord, roughly } from "./units.js";
import { windowed } from "./windowed.js";

const LINES_AT_FIRST = 120; // levels are folded at first where the tree is longer than that
const COLUMNS = ["Queue", "", "used", "deserved", "guarantee", "ceiling", "weight", "share", "running", "waiting"];
const CLASSES = ["name", "graph", "used", "deserved", "guarantee", "ceiling", "weight", "share", "running", "waiting"];

let folded = null; // kept from page to page: what a viewer has folded

export function openTree(main) {
  const { choices } = route();
  const state = {
    resource: choices.get("resource") ?? "",
    scale: choices.get("scale") ?? "cluster",
    filter: choices.get("filter") ?? "",
  };
  let children = new Map();
  let resources = [];

  const set = (name, value, normal) => {
    state[name] = value;
    choose({ [name]: value === normal ? "" : value });
    arrange();
  };
  const resource = choice("Resource", state.resource, [["", "dominant"]], (value) => set("resource", value, ""));
  const scale = choice("Length of the bars", state.scale, [["cluster", "part of the cluster"], ["parent", "part of the parent"]], (value) => set("scale", value, "cluster"));
  const filter = textField("Queues named", state.filter, (value) => set("filter", value, ""), { placeholder: "filter" });
  const summary = h("p.summary", { id: "tree-summary" });
  const remarks = h("ul.remarks", { hidden: true });
  const grid = h("div.grid.tree", { role: "treegrid", tabindex: "0", "aria-label": "Queues", "aria-describedby": "tree-keys" },
    h("div", { role: "rowgroup", class: "head" },
      h("div.row", { role: "row", "aria-rowindex": "1" }, COLUMNS.map((text, index) =>
        h(`span.${CLASSES[index]}`, { role: "columnheader" }, text || "deserved and used")))));

  main.replaceChildren(
    heading("Queues", summary),
    h("div.controls", {}, resource.element, scale.element, filter.element,
      h("span.field.buttons", {}, button("Open all", () => foldTo(new Set())), button("Fold all", () => foldTo(new Set([...children.keys()].filter((one) => one !== ROOT)))))),
    legend(),
    remarks,
    grid,
    h("p.unseen", { id: "tree-keys" }, "Arrow keys move and open or fold queues; Enter opens the page of a queue."),
  );

  const list = windowed({ grid, newRow: () => newTreeRow(toggle), keyOf: (line) => line.name, onKey });

  function foldTo(next) {
    folded = next;
    arrange();
  }

  function toggle(name) {
    if (folded.has(name)) folded.delete(name);
    else folded.add(name);
    arrange();
  }

  function onKey(key, _event, line) {
    if (key === "Enter") location.hash = queueAddress(line.name);
    else if (key === " " && line.open !== null) toggle(line.name);
    else if (key === "ArrowRight" && line.open === false) toggle(line.name);
    else if (key === "ArrowRight" && line.open) list.activateKey(children.get(line.name)[0]);
    else if (key === "ArrowLeft" && line.open && line.name !== ROOT) toggle(line.name);
    else if (key === "ArrowLeft" && line.name !== ROOT) list.activateKey(store.queues.get(line.name)?.parent || ROOT);
    else return key === "ArrowLeft" || key === "ArrowRight";
    return true;
  }

  /** Queues came, went or moved, or the viewer chose something: which lines there are. */
  function arrange() {
    children = childrenOf(store.queues);
    resources = resourcesOf(store.queues);
    resource.setOptions([["", "dominant"], ...resources.map((one) => [one, resourceWord(one)])]);
    folded ??= foldedAtFirst(children);
    // The bars of a level share one scale, so the scale of a line is that of its parent.
    list.setItems(linesOf(store.queues, children, folded, state.filter).map((line) => ({ ...line, view: { state, resources } })));
    summarize();
  }

  function summarize() {
    const root = store.queues.get(ROOT);
    if (!root) return;
    const used = resources.filter((one) => measure(root, one).deserved).map((one) =>
      `${resourceWord(one)} ${percent(measure(root, one).used / measure(root, one).deserved)}`);
    setText(summary, `${counted(store.queues.size, "queue")}; in use: ${used.join(", ") || "nothing"}`);
    const said = [...store.queues.values()].filter((one) => one.setAside || one.remarks?.length).slice(0, 6);
    setShown(remarks, said.length > 0);
    fillWhenChanged(remarks, said.map(({ name, setAside, remarks: all }) => [name, setAside, all]), () => said.map((one) =>
      h("li", {}, h("a", { href: queueAddress(one.name) }, one.name), ": ", one.setAside ? `set aside: ${one.setAside}` : one.remarks.join("; "))));
  }

  const shape = () => [...store.queues.values()].map((one) => `${one.name}/${one.parent}`).join("\n");
  let known = "";
  const update = (changed) => {
    if (!changed.queues) return;
    const now = shape();
    if (now !== known) arrange();
    else {
      list.redraw();
      summarize();
    }
    known = now;
  };
  if (store.isLoaded("queues")) update({ queues: new Set() });
  const stop = store.subscribe(update);
  store.need("queues").catch((error) => setText(summary, error.message));
  return {
    title: "Queues",
    close() {
      stop();
      list.close();
    },
  };
}

/** Whole levels, from the deepest, until the rest is a few lines. */
function foldedAtFirst(children) {
  const open = new Set();
  let level = [ROOT];
  let lines = 1;
  while (level.length) {
    const next = level.flatMap((one) => children.get(one) ?? []);
    if (lines + next.length > LINES_AT_FIRST && lines > 1) break;
    level.forEach((one) => open.add(one));
    lines += next.length;
    level = next;
  }
  return new Set([...children.keys()].filter((one) => !open.has(one)));
}

function newTreeRow(toggle) {
  const cells = Object.fromEntries(CLASSES.map((name) => [name, h(`span.${name}`, { role: "gridcell" })]));
  const twist = h("span.twist", { "aria-hidden": "true" });
  const link = h("a", { tabindex: "-1" });
  const chip = h("span.chip");
  const kind = h("span.kind");
  const bar = newBar();
  let name = "";
  twist.addEventListener("click", () => toggle(name));
  cells.name.append(twist, link, chip);
  cells.graph.append(bar.element, kind);
  const element = h("div", {}, Object.values(cells));
  return {
    element,
    show(line) {
      const queue = store.queues.get(line.name);
      if (!queue) return;
      name = line.name;
      const { state, resources } = line.view;
      const root = store.queues.get(ROOT);
      const resource = state.resource || dominant(queue, root, resources);
      const amount = measure(queue, resource);
      const over = state.scale === "parent" && queue.name !== ROOT ? (store.queues.get(queue.parent) ?? root) : root;
      setAttribute(element, "aria-level", line.level);
      setAttribute(element, "aria-posinset", line.place);
      setAttribute(element, "aria-setsize", line.siblings);
      setAttribute(element, "aria-expanded", line.open === null ? null : String(line.open));
      element.style.setProperty("--level", line.level - 1);
      twist.dataset.state = line.open === null ? "leaf" : line.open ? "open" : "folded";
      setText(link, queue.name);
      setAttribute(link, "href", queueAddress(queue.name));
      const word = queue.setAside ? "set aside" : queue.state && queue.state !== "Open" ? queue.state.toLowerCase() : "";
      setText(chip, word);
      setShown(chip, Boolean(word));
      bar.show(resource, amount, measure(over, resource).deserved);
      const isIdle = !amount.used && !amount.deserved;
      setText(kind, state.resource || isIdle ? "" : resourceWord(resource));
      element.classList.toggle("idle", isIdle && !queue.running && !queue.inqueue && !queue.pending);
      setText(cells.used, roughly(resource, amount.used));
      cells.used.classList.toggle("beyond", amount.used > amount.deserved);
      setText(cells.deserved, roughly(resource, amount.deserved));
      setText(cells.guarantee, roughly(resource, amount.guarantee));
      setText(cells.ceiling, roughly(resource, amount.capability));
      setText(cells.weight, queue.name === ROOT ? "" : weight(queue));
      setText(cells.share, queue.name === ROOT ? "" : queue.share);
      setText(cells.running, String(queue.running));
      setText(cells.waiting, String(queue.inqueue + queue.pending));
    },
  };
}

/** The weight, with what past use makes of it. */
export function weight(queue) {
  return queue.factor === null || queue.factor === undefined || queue.factor === 1 ? String(queue.weight) : `${queue.weight} × ${Number(queue.factor.toFixed(2))}`;
}

/** Links from the root down to a queue. */
export function breadcrumb(name) {
  const path = [ROOT, ...pathOf(name, store.queues)].filter((one, index) => index === 0 || one !== ROOT);
  return h("nav.breadcrumb", { "aria-label": "Queues above" }, path.slice(0, name === ROOT ? 0 : -1).flatMap((one) =>
    [h("a", { href: queueAddress(one) }, one), " / "]));
}
