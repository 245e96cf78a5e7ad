// The page of one queue: its numbers, why it deserves them, what is in it, and how it was.

import { get } from "./api.js";
import { legend, measure, newBar } from "./bars.js";
import { headOf, heading, problemOf, scrolling, textLines } from "./controls.js";
import { drawing, fill, fillWhenChanged, h, setAttribute, setShown, setText } from "./dom.js";
import { figures } from "./history.js";
import { newJobTable } from "./job_table.js";
import { below, childrenOf, resourcesOf, ROOT } from "./queue_order.js";
import { address, queueAddress } from "./route.js";
import { store } from "./store.js";
import { breadcrumb, weight } from "./tree.js";
import { amounts, precisely, resourceWord, roughly } from "./units.js";

const REFRESH_MS = 15000;
const FIELDS = [["used", "used"], ["deserved", "deserved"], ["guarantee", "guarantee"], ["softGuarantee", "soft guarantee"], ["capability", "ceiling"], ["realCapability", "ceiling in effect"], ["preempting", "being freed"]];

export function openQueue(main, [name = ROOT], me) {
  const crumbs = h("div");
  const facts = h("dl.facts");
  const numbers = h("div");
  const why = h("section.why", { "aria-label": "Why it deserves this" }, h("h2", {}, "Why it deserves this"), h("p.quiet", {}, "deciding …"));
  const children = h("section", { "aria-label": "Queues below" });
  const namespaces = h("section", { "aria-label": "Namespaces" });
  const past = h("section", { "aria-label": "History" }, h("h2", {}, "Last hours"), h("p.quiet", {}, "loading …"));
  const jobs = h("section", { "aria-label": "Jobs" });
  const actions = h("p.actions", {},
    h("a", { href: address("jobs", [], { queue: name }) }, "All its jobs"), " ",
    name !== ROOT && h("a", { href: address("whatif", [], { queue: name }) }, "What if it had another weight?"), " ",
    h("a", { href: address("history", [], { queue: name }) }, "History"));
  const table = newJobTable({ label: `Jobs in ${name}`, most: 50 });
  jobs.append(h("h2", {}, "Jobs"), table.element);
  const rest = h("div", {}, why, h("div.columns", {}, children, namespaces), jobs, past);
  main.replaceChildren(crumbs, heading(name, actions), facts, numbers, rest);

  const lines = new Map(); // of the numbers, by resource
  const update = (changed) => {
    const queue = store.queues.get(name);
    if (changed.queues) {
      fillWhenChanged(crumbs, [queue?.parent], () => breadcrumb(name));
      const isMissing = !queue && store.isLoaded("queues"); // said once, not in every part of the page
      for (const one of [rest, actions, facts]) setShown(one, !isMissing);
      if (!queue) fillWhenChanged(numbers, store.isLoaded("queues"), () => (store.isLoaded("queues") ? h("p.problem", {}, `There is no queue ${name}, or your rights do not let you see it.`) : h("p.quiet", {}, "loading …")));
      else {
        showFacts(facts, queue);
        showNumbers(numbers, queue, lines);
        showChildren(children, name);
      }
    }
    if (changed.jobs || changed.queues) {
      const inside = below(name, childrenOf(store.queues));
      table.setRows([...store.jobs.values()].filter((job) => inside.has(job.queue)));
    }
  };

  const control = new AbortController();
  const ask = async () => {
    try {
      const answer = await get("/api/queue", { name }, control.signal);
      showWhy(why, answer);
      showNamespaces(namespaces, answer.namespaces ?? []);
    } catch (error) {
      if (error.name !== "AbortError") fill(why, h("h2", {}, "Why it deserves this"), problemOf(error));
    }
  };
  const showHistory = async () => {
    try {
      const { history } = await me;
      if (!history) return fill(past, h("h2", {}, "Last hours"), h("p.quiet", {}, "This console keeps no history, or your rights do not let you see it."));
      const answer = await get("/api/history", { queue: name, hours: 6 }, control.signal);
      fill(past, h("h2", {}, "Last hours"), figures(answer));
    } catch (error) {
      if (error.name !== "AbortError") fill(past, h("h2", {}, "Last hours"), problemOf(error));
    }
    return null;
  };

  update({ queues: true, jobs: true });
  const stop = store.subscribe(update);
  store.need("queues", "jobs").catch((error) => jobs.append(problemOf(error)));
  ask();
  showHistory();
  const timer = setInterval(() => document.hidden || ask(), REFRESH_MS);
  return {
    title: `Queue ${name}`,
    close() {
      stop();
      clearInterval(timer);
      control.abort();
      table.close();
    },
  };
}

function showFacts(place, queue) {
  const fact = (term, value) => h("div", {}, h("dt", {}, term), h("dd", {}, value));
  const { name, share, priority, reclaimable, state, running, inqueue, pending, setAside, remarks } = queue;
  fillWhenChanged(place, { ...queue, resources: null }, () => [
    name !== ROOT && [fact("weight", weight(queue)), fact("share", share || "0"), fact("priority", String(priority ?? 0)), fact("reclaimable", reclaimable ? "yes" : "no")],
    fact("state", state || "Open"),
    fact("groups", `${running} running, ${inqueue} admitted, ${pending} waiting`),
    setAside && fact("set aside", setAside),
    remarks?.length ? fact("remarks", remarks.join("; ")) : null,
  ]);
}

function showNumbers(place, queue, lines) {
  const root = store.queues.get(ROOT);
  const resources = resourcesOf(store.queues);
  fillWhenChanged(place, resources, () => {
    lines.clear();
    for (const resource of resources) lines.set(resource, newLine(resource));
    return [h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Numbers by resource" }, h("table.numbers", {},
      h("caption.unseen", {}, `What ${queue.name} has of each resource, as a part of the cluster`),
      headOf("Resource", "of the cluster", ...FIELDS.map(([, text]) => `#${text}`)),
      h("tbody", {}, [...lines.values()].map((line) => line.element)))), legend()];
  });
  for (const [resource, line] of lines) line.show(measure(queue, resource), measure(root, resource).deserved);
}

function newLine(resource) {
  const bar = newBar();
  const cells = FIELDS.map(() => h("td.number"));
  return {
    element: h("tr", {}, h("th", { scope: "row" }, resourceWord(resource)), h("td.graph", {}, bar.element), cells),
    show(amount, scale) {
      bar.show(resource, amount, scale);
      FIELDS.forEach(([field], index) => {
        setText(cells[index], roughly(resource, amount[field]));
        setAttribute(cells[index], "title", precisely(resource, amount[field]));
      });
    },
  };
}

function showChildren(place, name) {
  const names = childrenOf(store.queues).get(name) ?? [];
  const rows = names.map((one) => store.queues.get(one));
  fillWhenChanged(place, rows.map((one) => [one.name, weight(one), one.share]), () => [h("h2", {}, "Queues below"), names.length
    ? h("ul.plainlist.many", { tabindex: "0", "aria-label": "Queues below" }, rows.map((one) =>
      h("li", {}, h("a", { href: queueAddress(one.name) }, one.name), h("span.quiet", {}, ` weight ${weight(one)}, share ${one.share || "0"}`))))
    : h("p.quiet", {}, "None: this is a leaf, and jobs are submitted to it.")]);
}

function showNamespaces(place, namespaces) {
  if (!namespaces.length) return fill(place);
  return fill(place, h("h2", {}, "Namespaces"), h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Namespaces and what they use" }, h("table.numbers", {},
    headOf("Namespace", "#weight", "used", "#share"),
    h("tbody", {}, namespaces.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name), h("td.number", {}, String(one.weight ?? 1)),
      h("td", {}, typeof one.used === "object" ? amounts(one.used) : String(one.used)), h("td.number", {}, String(one.share ?? ""))))))));
}

function showWhy(place, answer) {
  const drawings = Object.entries(answer.drawings ?? {}).map(([resource, svg]) => {
    const drawn = drawing(svg);
    return drawn && h("figure.card", {}, h("figcaption", {}, resourceWord(resource)), scrolling(drawn, `Water level of ${resourceWord(resource)}`));
  });
  fill(place, h("h2", {}, "Why it deserves this"), h("div.figures", {}, drawings),
    answer.why ? textLines(answer.why.lines, "Explanation") : h("p.quiet", {}, answer.because || "Nothing is known yet."));
}
