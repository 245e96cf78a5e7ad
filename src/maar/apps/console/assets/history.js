// How it was: figures over time that the server has drawn.

import { get } from "./api.js";
import { choice, heading, problemOf, scrolling } from "./controls.js";
import { drawing, fill, h } from "./dom.js";
import { ROOT } from "./queue_order.js";
import { choose, queueAddress, route } from "./route.js";
import { store } from "./store.js";
import { moment } from "./units.js";

const HOURS = [["1", "1 hour"], ["3", "3 hours"], ["6", "6 hours"], ["12", "12 hours"], ["24", "24 hours"]];
const REFRESH_MS = 60000; // a sample a minute is kept

export function openHistory(main, _parts, me) {
  const { choices } = route();
  const state = { queue: choices.get("queue") || ROOT, hours: choices.get("hours") || "6" };
  const set = (name, value) => {
    state[name] = value;
    choose({ [name]: value });
    ask();
  };
  const queue = choice("Queue", state.queue, [[state.queue, state.queue]], (value) => set("queue", value));
  const hours = choice("Over the last", state.hours, HOURS, (value) => set("hours", value));
  const place = h("div.figures", { "aria-busy": "true" }, h("p.quiet", {}, "loading …"));
  const link = h("p.actions");
  main.replaceChildren(heading("History", link), h("div.controls", {}, queue.element, hours.element), place);

  let control = new AbortController();
  async function ask() {
    control.abort();
    control = new AbortController();
    fill(link, h("a", { href: queueAddress(state.queue) }, `Queue ${state.queue} now`));
    try {
      const { history } = await me;
      if (!history) {
        fill(place, h("p", {}, "This console keeps no history, or your rights do not suffice: history needs the right to list queues and pod groups everywhere."));
        return;
      }
      const answer = await get("/api/history", state, control.signal);
      fill(place, figures(answer));
    } catch (error) {
      if (error.name !== "AbortError") fill(place, problemOf(error));
    } finally {
      place.removeAttribute("aria-busy");
    }
  }
  const names = () => queue.setOptions([...store.queues.keys()].sort((a, b) => (a === ROOT ? -1 : b === ROOT ? 1 : a.localeCompare(b))).map((one) => [one, one]));
  names();
  const stop = store.subscribe((changed) => changed.queues && names());
  store.need("queues").catch(() => {});
  ask();
  const timer = setInterval(() => document.hidden || ask(), REFRESH_MS);
  return {
    title: "History",
    close() {
      stop();
      clearInterval(timer);
      control.abort();
    },
  };
}

/** The figures of an answer, each with its caption; what the server noted comes first. */
export function figures(answer) {
  const since = answer.since ? `Known since ${moment(answer.since)}${answer.source === "prometheus" ? ", from Prometheus" : ""}.` : "";
  return [
    h("p.quiet", {}, [answer.note, since].filter(Boolean).join(" ")),
    h("div.figures", {}, (answer.figures ?? []).map((one) => {
      const drawn = drawing(one.svg);
      return h("figure.card", {}, h("figcaption", {}, h("strong", {}, one.title), one.caption && h("span.quiet", {}, one.caption)), (drawn && scrolling(drawn, one.title)) ?? h("p.problem", {}, "This drawing cannot be read."));
    })),
  ];
}
