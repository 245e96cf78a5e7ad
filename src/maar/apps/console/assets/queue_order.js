// The tree out of queue rows: who is below whom, in which order, what is open, what a filter leaves.

export const ROOT = "root";

/** The children of each queue, by name; queues whose parent is not there, or that are set aside, are below the root. */
export function childrenOf(queues) {
  const children = new Map();
  for (const queue of queues.values()) {
    if (queue.name === ROOT) continue;
    const parent = queue.parent && queues.has(queue.parent) && !isCircular(queue, queues) ? queue.parent : ROOT;
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(queue.name);
  }
  for (const names of children.values()) names.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  return children;
}

function isCircular(queue, queues) {
  const seen = new Set([queue.name]);
  for (let above = queue.parent; above && above !== ROOT; above = queues.get(above)?.parent) {
    if (seen.has(above)) return true;
    seen.add(above);
  }
  return false;
}

/**
 * The lines of the tree in order.
 * @returns {{name: string, level: number, place: number, siblings: number, open: boolean|null}[]}
 */
export function linesOf(queues, children, folded, filter) {
  const kept = filter ? matching(queues, filter) : null;
  const lines = [];
  const visit = (name, level, place, siblings) => {
    const below = (children.get(name) ?? []).filter((one) => !kept || kept.has(one));
    const open = below.length ? Boolean(kept) || !folded.has(name) : null;
    lines.push({ name, level, place, siblings, open });
    if (open) below.forEach((one, index) => visit(one, level + 1, index + 1, below.length));
  };
  if (queues.has(ROOT)) visit(ROOT, 1, 1, 1);
  return lines;
}

/** The queues whose name has the text in it, with everything above them. */
function matching(queues, filter) {
  const wanted = filter.toLowerCase();
  const kept = new Set([ROOT]);
  for (const queue of queues.values()) {
    if (!queue.name.toLowerCase().includes(wanted)) continue;
    for (let name = queue.name; name && !kept.has(name); name = queues.get(name)?.parent) kept.add(name);
  }
  return kept;
}

/** A queue and everything below it. */
export function below(name, children) {
  const found = new Set([name]);
  for (const one of found) for (const child of children.get(one) ?? []) found.add(child);
  return found;
}

/** The path from below the root down to a queue. */
export function pathOf(name, queues) {
  const path = [];
  for (let one = name; one && one !== ROOT && !path.includes(one); one = queues.get(one)?.parent) path.unshift(one);
  return path;
}

/** The resources that queues have, the usual ones first; pods are counted by the scheduler but nobody shares them. */
export function resourcesOf(queues) {
  const found = new Set();
  for (const queue of queues.values()) for (const name of Object.keys(queue.resources)) found.add(name);
  found.delete("pods");
  const rank = (name) => ["cpu", "memory"].indexOf(name) + 1 || (name.includes("gpu") ? 3 : 4);
  return [...found].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}
