// Running and waiting jobs: search, filters and sorting, all of which stand in the address.

import { choice, heading, problemOf, textField } from "./controls.js";
import { h, oncePerFrame, setText } from "./dom.js";
import { isWaiting, NEWEST_FIRST, newJobTable, sorted, SORTS } from "./job_table.js";
import { below, childrenOf, ROOT } from "./queue_order.js";
import { choose, route } from "./route.js";
import { store } from "./store.js";
import { counted } from "./units.js";

const PHASES = [["", "all"], ["running", "running"], ["waiting", "waiting"], ["finished", "finished"]];

export function openJobs(main) {
  const { choices } = route();
  const state = Object.fromEntries(["search", "queue", "namespace", "phase", "sort"].map((name) => [name, choices.get(name) ?? ""]));
  const set = (name, value) => {
    state[name] = value;
    choose({ [name]: value });
    arrange();
  };
  const search = textField("Search", state.search, (value) => set("search", value), { placeholder: "name, reason", id: "search" });
  const queue = choice("Queue and below", state.queue, [["", "all"]], (value) => set("queue", value));
  const namespace = choice("Namespace", state.namespace, [["", "all"]], (value) => set("namespace", value));
  const phase = choice("Phase", state.phase, PHASES, (value) => set("phase", value));
  const order = choice("Sort by", state.sort || NEWEST_FIRST, [...SORTS.keys()].flatMap((one) => [[one, one], [`-${one}`, `${one}, down`]]), (value) => set("sort", value));
  order.element.classList.add("narrow"); // where there is no room for headings
  const summary = h("p.summary", { role: "status" });
  const table = newJobTable({
    label: "Jobs",
    onSort: (name) => set("sort", (state.sort || NEWEST_FIRST) === name ? `-${name}` : name),
  });
  main.replaceChildren(heading("Jobs", summary), h("div.controls", {}, search.element, queue.element, namespace.element, phase.element, order.element), table.element);

  const arrange = oncePerFrame(() => {
    const rows = filtered([...store.jobs.values()], state);
    table.setRows(sorted(rows, state.sort || NEWEST_FIRST), "", { alreadySorted: true });
    table.showSort(state.sort || NEWEST_FIRST);
    const waiting = rows.filter(isWaiting).length;
    const running = rows.filter((job) => job.phase === "Running").length;
    setText(summary, store.isLoaded("jobs") ? `${rows.length === store.jobs.size ? counted(rows.length, "job") : `${rows.length} of ${counted(store.jobs.size, "job")}`}: ${running} running, ${waiting} waiting` : "loading …");
  });
  const update = (changed) => {
    if (changed.queues) queue.setOptions([["", "all"], ...[...store.queues.keys()].filter((one) => one !== ROOT).sort().map((one) => [one, one])]);
    if (changed.jobs) namespace.setOptions([["", "all"], ...[...new Set([...store.jobs.values()].map((job) => job.namespace))].sort().map((one) => [one, one])]);
    arrange();
  };
  update({ queues: true, jobs: true });
  const stop = store.subscribe(update);
  store.need("queues", "jobs").catch((error) => main.append(problemOf(error)));
  return {
    title: "Jobs",
    close() {
      stop();
      table.close();
    },
  };
}

function filtered(rows, { search, queue, namespace, phase }) {
  const inside = queue ? below(queue, childrenOf(store.queues)) : null;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((job) => {
    if (inside && !inside.has(job.queue)) return false;
    if (namespace && job.namespace !== namespace) return false;
    if (phase && phase !== phaseKind(job)) return false;
    if (!words.length) return true;
    const text = `${job.namespace}/${job.name} ${job.podGroup ?? ""} ${job.queue} ${job.reason} ${job.priorityClass ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function phaseKind(job) {
  if (job.phase === "Completed") return "finished";
  return isWaiting(job) ? "waiting" : "running";
}
