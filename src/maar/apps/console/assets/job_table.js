// Jobs as a table of which only the rows on the screen are drawn.

import { h, setAttribute, setShown, setText } from "./dom.js";
import { jobAddress, queueAddress } from "./route.js";
import { store } from "./store.js";
import { amounts, duration, moment } from "./units.js";
import { windowed } from "./windowed.js";

const WAITING = new Set(["Pending", "Inqueue", ""]);
export const NEWEST_FIRST = "age";
const LAST = Number.MAX_SAFE_INTEGER;

/** Whether a job waits for its start. */
export const isWaiting = (job) => WAITING.has(job.phase);

/** Columns: class, heading, and by what it sorts (numbers or text). */
const COLUMNS = [
  ["name", "Job", (job) => job.name],
  ["namespace", "Namespace", (job) => job.namespace],
  ["queue", "Queue", (job) => job.queue],
  ["phase", "Phase", (job) => job.phase],
  ["pods", "Pods", (job) => job.pods.running * 1e6 + job.pods.pending],
  ["request", "Requests", (job) => job.request?.cpu ?? 0],
  ["priority", "Priority", (job) => job.priority],
  ["place", "Place", (job) => job.place ?? LAST],
  ["start", "Start", (job) => job.started ?? job.start?.time ?? LAST],
  ["age", "Age", (job) => -job.created],
  ["reason", "Reason", (job) => job.reason],
];
export const SORTS = new Map(COLUMNS.map(([name, , by]) => [name, by]));

/** Rows in the order of a column, `-` before its name for the other way round; equal ones by name. */
export function sorted(rows, by) {
  const isDown = by.startsWith("-");
  const value = SORTS.get(isDown ? by.slice(1) : by) ?? SORTS.get(NEWEST_FIRST);
  const keyed = rows.map((row) => [value(row), row]);
  const sign = isDown ? -1 : 1;
  keyed.sort(([a, first], [b, second]) => sign * (a < b ? -1 : a > b ? 1 : 0) || (first.key < second.key ? -1 : 1));
  return keyed.map(([, row]) => row);
}

/**
 * @param {object} options
 * @param {string} options.label
 * @param {number} [options.most] rows that are shown at most
 * @param {(by: string) => void} [options.onSort] called with the name of a column; without it, headings only say what is below
 */
export function newJobTable({ label, most = Infinity, onSort }) {
  const heads = new Map();
  const grid = h("div.grid.jobs", { role: "grid", tabindex: "0", "aria-label": label, "aria-readonly": "true" },
    h("div", { role: "rowgroup", class: "head" }, h("div.row", { role: "row", "aria-rowindex": "1" }, COLUMNS.map(([name, text]) => {
      const head = h(`span.${name}`, { role: "columnheader" }, onSort ? h("button", { type: "button", onclick: () => onSort(name) }, text) : text);
      heads.set(name, head);
      return head;
    }))));
  const rest = h("p.quiet", { hidden: true });
  const empty = h("p.quiet", { hidden: true }, "No jobs.");
  const list = windowed({
    grid,
    newRow: newJobRow,
    keyOf: (job) => job.key,
    onKey: (key, _event, job) => {
      if (key !== "Enter") return false;
      location.hash = jobAddress(job);
      return true;
    },
  });
  const ages = setInterval(list.redraw, 10000);
  return {
    element: h("div", {}, grid, empty, rest),
    grid,
    setRows(rows, by = NEWEST_FIRST, { alreadySorted = false } = {}) {
      const all = alreadySorted ? rows : sorted(rows, by);
      setShown(grid, all.length > 0);
      list.setItems(all.length > most ? all.slice(0, most) : all);
      setShown(rest, all.length > most);
      setText(rest, `${all.length - most} more: see all its jobs.`);
      setShown(empty, all.length === 0);
      setText(empty, store.isLoaded("jobs") ? "No jobs." : "loading …");
    },
    showSort(by) {
      for (const [name, head] of heads) {
        setAttribute(head, "aria-sort", by === name ? "ascending" : by === `-${name}` ? "descending" : null);
      }
    },
    close() {
      clearInterval(ages);
      list.close();
    },
  };
}

function newJobRow() {
  const cells = Object.fromEntries(COLUMNS.map(([name]) => [name, h(`span.${name}`, { role: "gridcell" })]));
  const link = h("a", { tabindex: "-1" });
  const queue = h("a", { tabindex: "-1" });
  const phase = h("span.chip");
  cells.name.append(link);
  cells.queue.append(queue);
  cells.phase.append(phase);
  return {
    element: h("div", {}, Object.values(cells)),
    show(job) {
      const now = Date.now() / 1000;
      setText(link, job.name);
      setText(cells.namespace, job.namespace);
      setAttribute(cells.name, "title", `${job.namespace}/${job.name}`);
      setAttribute(link, "href", jobAddress(job));
      setText(queue, job.queue);
      setAttribute(queue, "href", queueAddress(job.queue));
      setText(phase, job.phase || job.status || "–");
      setAttribute(phase, "data-phase", job.phase);
      setText(cells.pods, podsText(job.pods));
      setAttribute(cells.pods, "title", podsSentence(job.pods));
      setText(cells.request, amounts(job.request));
      setAttribute(cells.request, "title", amounts(job.request));
      setText(cells.priority, String(job.priority));
      setText(cells.place, job.place === null || job.place === undefined ? "" : `${job.place}`);
      setText(cells.start, startText(job, now));
      setAttribute(cells.start, "title", startSentence(job, now));
      setText(cells.age, duration(now - job.created));
      setText(cells.reason, isWaiting(job) || job.reason ? [job.reason, job.message].filter(Boolean).join(": ") : "");
      setAttribute(cells.reason, "title", job.message || null);
    },
  };
}

function podsText(pods) {
  const all = pods.running + pods.pending;
  return all ? `${pods.running}/${all}` : pods.succeeded || pods.failed ? `${pods.succeeded} done` : `0/${pods.min}`;
}

export function podsSentence(pods) {
  return `${pods.running} running, ${pods.pending} waiting, ${pods.succeeded} succeeded, ${pods.failed} failed; ${pods.min} start together`;
}

/** When it has started, or when it is planned to. */
export function startText(job, now) {
  if (job.started) return moment(job.started, now);
  if (!job.start) return "";
  if (job.start.time === null) return "unknown";
  const about = job.start.certainty === "exact" ? "" : "≈ ";
  return job.start.time <= now ? `${about}now` : `${about}in ${duration(job.start.time - now)}`;
}

export function startSentence(job, now) {
  if (job.started) return `started ${moment(job.started, now)}`;
  if (!job.start) return null;
  const sure = { exact: "exact", bound: "by estimates", unknown: "unknown" }[job.start.certainty] ?? "";
  return job.start.time === null ? "its planned start is unknown" : `planned for ${moment(job.start.time, now)}, ${sure}`;
}
