// Free room on nodes, and how many pods of a size fit into its pieces: the arithmetic, without drawing.

export const STEPS = 8;
const FIXED = [{ cpu: 1000, memory: 4 * 1024 ** 3 }, { cpu: 4000, memory: 16 * 1024 ** 3 }, { cpu: 8000, memory: 32 * 1024 ** 3 }];
const SHAPES = 5;

/** Whether pods can be placed on a node. */
export const isUsable = (node) => node.ready && node.schedulable;

export const freeOf = (node, resource) => Math.max(0, (node.allocatable[resource] ?? 0) - (node.used[resource] ?? 0));

export function totals(nodes, resource) {
  let allocatable = 0;
  let used = 0;
  for (const node of nodes) {
    allocatable += node.allocatable[resource] ?? 0;
    used += node.used[resource] ?? 0;
  }
  return { allocatable, used };
}

/** How many pods fit node by node, and how many would if all free room were on one node. */
export function fits(nodes, request) {
  const wanted = Object.entries(request).filter(([, amount]) => amount > 0);
  const times = (free) => (wanted.length ? Math.max(0, Math.min(...wanted.map(([name, amount]) => Math.floor(free(name) / amount)))) : 0);
  let now = 0;
  for (const node of nodes) {
    const places = "pods" in node.allocatable ? Math.max(0, node.allocatable.pods - node.pods) : Infinity;
    now += Math.min(places, times((name) => freeOf(node, name)));
  }
  return { now, together: times((name) => nodes.reduce((sum, node) => sum + freeOf(node, name), 0)) };
}

/** The sizes of pods that jobs have most, waiting ones first; a job tells what all its pods request together. */
export function shapesOf(jobs, nodes) {
  const found = new Map();
  for (const job of jobs) {
    const pods = job.pods.running + job.pods.pending || job.pods.min;
    if (!pods || job.phase === "Completed") continue;
    const request = Object.fromEntries(Object.entries(job.request ?? {}).filter(([name]) => name !== "pods").map(([name, amount]) => [name, Math.round(amount / pods)]));
    if (!Object.values(request).some((amount) => amount > 0)) continue;
    const key = JSON.stringify(Object.entries(request).sort());
    const one = found.get(key) ?? { request, waiting: 0, pods: 0 };
    one.waiting += job.pods.pending;
    one.pods += pods;
    found.set(key, one);
  }
  const common = [...found.values()].sort((a, b) => b.waiting - a.waiting || b.pods - a.pods).slice(0, SHAPES)
    .map(({ request, waiting, pods }) => ({ request, text: waiting ? `${waiting} waiting pods` : `${pods} running pods` }));
  const has = (name) => nodes.some((node) => node.allocatable[name]);
  return common.length ? common : FIXED.filter((one) => Object.keys(one).every(has)).map((request) => ({ request, text: "usual size" }));
}
