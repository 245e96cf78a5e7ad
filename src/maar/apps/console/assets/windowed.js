// A list of rows of which only those on the screen are drawn: 10,000 rows cost as much as 40.
//
// All rows have one height, which the style sheet says (--row-height), so the place of a row follows from its number.
// The page itself scrolls; the list is as high as all of its rows. Drawn rows are used again for others. The focus
// stays on the list, and the active row is told to screen readers as its active descendant: a row that is scrolled
// away takes no focus with it.

import { h, oncePerFrame, setAttribute } from "./dom.js";

const MORE = 12; // rows drawn above and below the screen

/**
 * @param {object} options
 * @param {HTMLElement} options.grid the element with the role `grid` or `treegrid`
 * @param {() => {element: HTMLElement, show: (item: any, index: number) => void}} options.newRow
 * @param {(item: any) => string} options.keyOf
 * @param {(key: string, event: KeyboardEvent, item: any, index: number) => boolean} [options.onKey] true: handled
 * @param {number} [options.headRows] rows of the grid before the list
 */
export function windowed({ grid, newRow, keyOf, onKey, headRows = 1 }) {
  const body = h("div.window", { role: "rowgroup" });
  const id = `row-${Math.random().toString(36).slice(2, 8)}`;
  let items = [];
  let drawn = new Map(); // by key
  let spare = [];
  let active = null; // key
  let rowHeight = 0;

  const measureHeight = () => {
    rowHeight = parseFloat(getComputedStyle(body).getPropertyValue("--row-height")) || 30;
  };

  const draw = () => {
    if (!body.isConnected) return;
    if (!rowHeight) measureHeight();
    const top = body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / rowHeight) - MORE);
    const last = Math.min(items.length, Math.ceil((innerHeight - top) / rowHeight) + MORE);
    body.style.setProperty("height", `${items.length * rowHeight}px`);
    setAttribute(grid, "aria-rowcount", items.length + headRows);
    const next = new Map();
    for (let index = first; index < last; index += 1) {
      const key = keyOf(items[index]);
      const row = drawn.get(key);
      if (row) next.set(key, row);
    }
    for (const [key, row] of drawn) if (!next.has(key)) spare.push(row);
    let before = null;
    for (let index = first; index < last; index += 1) {
      const item = items[index];
      const key = keyOf(item);
      let row = next.get(key);
      if (!row) {
        row = spare.shift() ?? newRow(); // in their order: most stay where they are in the document
        row.element.id ||= `${id}-${Math.random().toString(36).slice(2, 9)}`;
        row.element.classList.add("row");
        row.element.setAttribute("role", "row");
        next.set(key, row);
      }
      row.element.style.setProperty("transform", `translateY(${index * rowHeight}px)`);
      setAttribute(row.element, "aria-rowindex", index + 1 + headRows);
      setAttribute(row.element, "aria-selected", key === active ? "true" : null);
      row.element.dataset.key = key;
      row.show(item, index);
      // Screen readers go by the order in the document.
      if (before ? before.nextSibling !== row.element : body.firstChild !== row.element) {
        body.insertBefore(row.element, before ? before.nextSibling : body.firstChild);
      }
      before = row.element;
    }
    for (const row of spare) row.element.remove();
    spare.length = Math.min(spare.length, 40);
    drawn = next;
    setAttribute(grid, "aria-activedescendant", active !== null ? drawn.get(active)?.element.id : null);
  };
  const drawSoon = oncePerFrame(draw);

  const indexOfActive = () => items.findIndex((item) => keyOf(item) === active);

  const activate = (index) => {
    if (!items.length) return;
    const at = Math.max(0, Math.min(items.length - 1, index));
    active = keyOf(items[at]);
    const top = body.getBoundingClientRect().top + at * rowHeight;
    const above = document.querySelector("header.top").offsetHeight + rowHeight * 2;
    if (top < above) scrollBy(0, top - above);
    else if (top + rowHeight * 2 > innerHeight) scrollBy(0, top + rowHeight * 2 - innerHeight);
    draw();
  };

  const keydown = (event) => {
    if (event.target !== grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = indexOfActive();
    const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 6);
    const moves = { ArrowDown: at + 1, ArrowUp: Math.max(0, at - 1), PageDown: at + page, PageUp: at - page, Home: 0, End: items.length - 1 };
    if (event.key in moves) activate(moves[event.key]);
    else if (at < 0 || !onKey?.(event.key, event, items[at], at)) return;
    event.preventDefault();
  };

  const resized = () => {
    measureHeight();
    drawSoon();
  };
  addEventListener("scroll", drawSoon, { passive: true });
  addEventListener("resize", resized);
  const moved = new ResizeObserver(drawSoon); // what is above the list may grow and shrink
  moved.observe(document.body);
  grid.addEventListener("keydown", keydown);
  grid.addEventListener("focus", () => {
    if (indexOfActive() < 0 && items.length) activate(Math.max(0, Math.floor(-body.getBoundingClientRect().top / rowHeight) + 1 - headRows));
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row) {
      active = row.dataset.key;
      drawSoon();
    }
  });
  grid.append(body);

  return {
    body,
    /** Show these items from now on. */
    setItems(next) {
      items = next;
      drawSoon();
    },
    redraw: drawSoon,
    activate,
    activateKey: (key) => activate(items.findIndex((item) => keyOf(item) === key)),
    get items() {
      return items;
    },
    close() {
      removeEventListener("scroll", drawSoon);
      removeEventListener("resize", resized);
      moved.disconnect();
    },
  };
}
