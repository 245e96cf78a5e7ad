// Events in time: a line from the first to now, with a mark for each; the list below says what they were.

import { h, s } from "./dom.js";
import { counted, duration, moment, seconds } from "./units.js";

const WIDTH = 960;
const HEIGHT = 64;
const EDGE = 12;
const NEWEST = 30; // lines that are shown at first

/** @param {{time: number|string, type: string, reason: string, message: string, about?: string, count?: number}[]} events */
export function timeLine(events, { isOpen = false } = {}) {
  const now = Date.now() / 1000;
  const known = events.map((one) => ({ ...one, at: seconds(one.time) })).filter((one) => one.at !== null).sort((a, b) => a.at - b.at);
  if (!known.length) return h("p.quiet", {}, "No events are known.");
  const from = known[0].at;
  const to = Math.max(now, known.at(-1).at, from + 1);
  const x = (at) => EDGE + ((at - from) / (to - from)) * (WIDTH - 2 * EDGE);
  const marks = known.map((one) => s(`g.mark${one.type === "Warning" ? ".warning" : ""}`, {},
    s("title", {}, `${moment(one.at, now)} ${one.reason}: ${one.message}`),
    one.type === "Warning"
      ? s("path", { d: `M${x(one.at)} 22l6 11h-12z` })
      : s("circle", { cx: x(one.at), cy: 28, r: 5 })));
  const drawn = s("svg.timeline", { preserveAspectRatio: "xMinYMin", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${known.length} events over ${duration(to - from)}; the list below has them` },
    s("path.axis", { d: `M${EDGE} 28H${WIDTH - EDGE}` }), marks,
    s("text", { x: EDGE, y: 54 }, moment(from, now)),
    s("text.end", { x: WIDTH - EDGE, y: 54 }, `now, ${duration(to - from)} later`));
  const lines = together(known).reverse();
  const list = (some) => h("ol.events", {}, some.map((one) => h(`li${one.type === "Warning" ? ".warning" : ""}`, {},
    h("time", { datetime: new Date(one.at * 1000).toISOString() }, moment(one.at, now)),
    h("span.what", {}, h("strong", {}, one.reason), one.count > 1 && h("span.quiet", {}, ` ×${one.count}`), one.about && h("span.quiet", { title: one.names.join(", ") }, ` ${one.about}`)),
    h("span.said", {}, one.message))));
  return [h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Time line" }, drawn), list(lines.slice(0, NEWEST)),
    lines.length > NEWEST && h("details", { open: isOpen }, h("summary", {}, counted(lines.length - NEWEST, "earlier event")), list(lines.slice(NEWEST)))];
}

/** One line for what was said of many pods at once: a gang that waits has an event for each of them. */
function together(events) {
  const lines = new Map();
  for (const one of events) {
    const key = JSON.stringify([Math.floor(one.at), one.type, one.reason, one.message, one.about?.split(" ")[0]]);
    if (lines.has(key)) lines.get(key).push(one);
    else lines.set(key, [one]);
  }
  return [...lines.values()].map((alike) => {
    const names = alike.map((one) => one.about).filter(Boolean);
    const kind = names[0]?.split(" ")[0];
    return { ...alike[0], names, about: alike.length > 1 ? `${alike.length} ${kind === "Pod" ? "pods" : `${kind}s`}` : names[0] };
  });
}
