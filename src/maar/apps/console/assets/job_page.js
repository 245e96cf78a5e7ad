// The page of one job: where its pods are, what happened, why it is as it is, and what would change that.

import { get } from "./api.js";
import { headOf, heading, problemOf, textLines } from "./controls.js";
import { fill, fillWhenChanged, h, oncePerFrame, setShown } from "./dom.js";
import { podsSentence, startSentence } from "./job_table.js";
import { address, queueAddress } from "./route.js";
import { store } from "./store.js";
import { timeLine } from "./time_line.js";
import { amounts, duration, moment, seconds } from "./units.js";

const REFRESH_MS = 10000;

export function openJob(main, [kind = "podgroup", namespace = "", name = ""]) {
  const key = `${namespace}/${name}`;
  const facts = h("dl.facts");
  const why = h("section.why", { "aria-label": "Why" }, h("h2", {}, "Why"), deciding());
  const future = h("section.why", { "aria-label": "What would start it" }, h("h2", {}, "When, and what would start it"), deciding());
  const pods = h("section", { "aria-label": "Pods" }, h("h2", {}, "Pods"), h("p.quiet", {}, "loading …"));
  const events = h("section", { "aria-label": "Events" }, h("h2", {}, "Events"), h("p.quiet", {}, "loading …"));
  const object = h("section", { "aria-label": "Object" });
  const problem = h("div"); // that there is no such job, once and not in every part of the page
  const rest = h("div", {}, facts, h("div.columns.texts", {}, why, future), pods, events, object);
  main.replaceChildren(
    h("nav.breadcrumb", { "aria-label": "Jobs" }, h("a", { href: address("jobs") }, "Jobs"), " / ", h("a", { href: address("jobs", [], { namespace }) }, namespace), " / "),
    heading(name), problem, rest);

  const control = new AbortController();
  const row = () => [...store.jobs.values()].find((one) => (one.kind === kind && `${one.namespace}/${one.name}` === key) || (kind === "podgroup" && one.podGroup === key));
  let isKnown = false; // whether pods and events have been there
  const ask = async () => {
    try {
      const answer = await get("/api/job", { kind, key }, control.signal);
      isKnown = true;
      fill(problem);
      setShown(rest, true);
      showPods(pods, answer.pods ?? []);
      fill(events, h("h2", {}, "Events"), timeLine(answer.events ?? [], { isOpen: events.querySelector("details")?.open }));
      showObject(object, answer);
    } catch (error) {
      if (error.name === "AbortError") return;
      setShown(rest, error.status !== 404);
      fill(problem, problemOf(error));
      if (!isKnown) for (const [place, title] of [[pods, "Pods"], [events, "Events"]]) fill(place, h("h2", {}, title), h("p.quiet", {}, "Not known."));
    }
  };
  let known = []; // lines of the explanation without a future
  const explain = async (place, title, withFuture) => {
    try {
      const answer = await get("/api/explanation", { kind, key, future: withFuture ? "1" : "0" }, control.signal);
      if (!withFuture) known = trimmed(answer.lines ?? []);
      fill(place, h("h2", {}, title), withFuture ? futureOf(answer, known) : linesOf(answer));
    } catch (error) {
      if (error.name !== "AbortError") fill(place, h("h2", {}, title), problemOf(error));
    }
  };
  const update = oncePerFrame(() => showFacts(facts, row()));
  let phase = null;
  let asked = 0;
  const refresh = () => {
    asked = Date.now();
    ask();
    explain(why, "Why", false).then(() => explain(future, "When, and what would start it", true));
  };
  const onRows = (changed) => {
    if (!changed.jobs) return;
    update();
    const now = row();
    const next = now && `${now.phase} ${now.reason} ${now.pods.running}`;
    if (phase !== null && next !== phase && Date.now() - asked > 1000) refresh();
    phase = next ?? phase;
  };
  onRows({ jobs: true });
  const stop = store.subscribe(onRows);
  store.need("jobs").catch(() => {});
  refresh();
  const timer = setInterval(() => document.hidden || ask(), REFRESH_MS);
  return {
    title: `Job ${key}`,
    close() {
      stop();
      clearInterval(timer);
      control.abort();
    },
  };
}

const deciding = () => h("p.quiet", { "aria-busy": "true" }, "deciding …");

function showFacts(place, job) {
  const fact = (term, value) => value && h("div", {}, h("dt", {}, term), h("dd", {}, value));
  if (!job) {
    const isLoaded = store.isLoaded("jobs");
    fillWhenChanged(place, isLoaded, () => fact("state", isLoaded ? "There is no such job now, or your rights do not let you see it." : "loading …"));
    return;
  }
  const now = Date.now() / 1000;
  fillWhenChanged(place, [job, duration(now - job.created), startSentence(job, now)], () => [
    fact("phase", h("span.chip", { "data-phase": job.phase }, job.phase || job.status || "–")), fact("status", job.status !== job.phase && job.status),
    fact("queue", h("a", { href: queueAddress(job.queue) }, job.queue)),
    fact("pods", podsSentence(job.pods)), fact("requests", amounts(job.request)),
    fact("priority", `${job.priority}${job.priorityClass ? ` (${job.priorityClass})` : ""}`),
    fact("place in the order", job.place && `${job.place}`),
    fact("start", startSentence(job, now)),
    fact("created", `${moment(job.created, now)}, ${duration(now - job.created)} ago`),
    fact("pod group", job.kind === "job" && job.podGroup),
    fact("reason", job.reason && `${job.reason}: ${job.message}`),
  ]);
}

function showPods(place, pods) {
  const columns = ["Pod", "Task", "Phase", "Node", "#Started", "#Restarts", "Reason"];
  fill(place, h("h2", {}, `Pods (${pods.length})`), pods.length
    ? h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Pods and their nodes" }, h("table", {}, headOf(...columns),
      h("tbody", {}, pods.map((pod) => h("tr", {}, h("th", { scope: "row" }, pod.name), h("td", {}, pod.task || ""),
        h("td", {}, h("span.chip", { "data-phase": pod.phase }, pod.phase), pod.phase === "Running" && pod.ready === false && h("span.quiet", {}, " not ready")),
        h("td", {}, pod.node ? h("a", { href: address("nodes", [], { filter: pod.node }) }, pod.node) : "–"),
        h("td.number", {}, seconds(pod.started) ? moment(seconds(pod.started)) : "–"), h("td.number", {}, String(pod.restarts ?? 0)), h("td", {}, pod.reason || ""))))))
    : h("p.quiet", {}, "It has no pods now."));
}

function showObject(place, { conditions = [], yaml }) {
  const kept = place.querySelector("details")?.open;
  fill(place,
    conditions.length > 0 && [h("h2", {}, "Conditions"), h("dl.facts", {}, conditions.map((one) => h("div", {}, h("dt", {}, one.type), h("dd", {}, [one.status, one.reason, one.message].filter(Boolean).join(" · ") || (seconds(one.time) ? `since ${moment(seconds(one.time))}` : "–")))))],
    yaml && h("details", { open: kept }, h("summary", {}, "The object as YAML"), h("pre.lines", { tabindex: "0", "aria-label": "YAML" }, yaml)));
}

function linesOf(answer) {
  const lines = trimmed(answer.lines ?? []);
  return [answer.note && h("p.quiet", {}, answer.note), lines.length ? textLines(lines, "Explanation") : h("p.quiet", {}, "Nothing more is known.")];
}

/** Planned start and smallest changes: the lines beyond those that the first answer had already. */
function futureOf(answer, known) {
  const lines = answer.lines ?? [];
  // Ages have grown since; but where nothing else has changed, an empty line stands after as many lines.
  const isMore = lines[known.length]?.text === "";
  const more = trimmed(isMore || lines.length === known.length ? lines.slice(known.length) : lines);
  return [
    answer.note && h("p.quiet", {}, answer.note),
    more.length ? textLines(more, "Planned start and smallest changes") : h("p.quiet", {}, answer.data?.state === "waits" ? "Nothing more is planned." : "It does not wait."),
  ];
}

/** Without empty lines before and after. */
function trimmed(lines) {
  const isText = (one) => one.text.trim() !== "";
  const first = lines.findIndex(isText);
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex(isText) + 1);
}
