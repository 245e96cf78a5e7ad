// The page: which view the address asks for, and what stands around it.

import { get, post } from "./api.js";
import { h } from "./dom.js";
import { route } from "./route.js";
import { store } from "./store.js";
import { openTree } from "./tree.js";

// Views beyond the first are loaded when they are asked for.
const VIEWS = {
  tree: async () => openTree,
  queue: async () => (await import("./queue_page.js")).openQueue,
  jobs: async () => (await import("./jobs.js")).openJobs,
  job: async () => (await import("./job_page.js")).openJob,
  nodes: async () => (await import("./nodes.js")).openNodes,
  whatif: async () => (await import("./whatif.js")).openWhatIf,
  history: async () => (await import("./history.js")).openHistory,
};
const BELONGS_TO = { queue: "tree", job: "jobs" };

const main = document.getElementById("main");
let current = null;
let opened = 0;

async function show({ moveFocus = true } = {}) {
  const { page, parts } = route();
  const number = ++opened;
  const view = await (VIEWS[page] ?? (async () => openMissing))();
  if (number !== opened) return;
  current?.close?.();
  main.replaceChildren();
  main.dataset.page = page;
  current = view(main, parts, me);
  document.title = `${current.title} · Maar console`;
  for (const link of document.querySelectorAll("#pages a")) {
    if (link.dataset.page === (BELONGS_TO[page] ?? page)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  scrollTo(0, 0);
  if (moveFocus) main.querySelector("h1")?.focus({ preventScroll: true });
}

function openMissing() {
  main.append(h("h1", { tabindex: "-1" }, "There is no such page"), h("p", {}, "Go to ", h("a", { href: "#/" }, "the tree of queues"), "."));
  return { title: "No such page" };
}

/** Who looks, and what they may do; asked once, beside the rows. */
const me = get("/api/me");

async function showSession() {
  try {
    const { user, cluster, everywhere, namespaces } = await me;
    document.getElementById("user").textContent = user;
    document.getElementById("cluster").textContent = cluster.replace(/^https?:\/\//, "");
    document.getElementById("logout").hidden = false;
    const sentence = rightsSentence(everywhere, namespaces);
    if (sentence) document.querySelector("header.top").after(h("p.rights", { id: "rights" }, sentence));
  } catch {
    // the store says it, for it asks again
  }
}

/** What is left out for want of rights; empty where nothing is. */
function rightsSentence(everywhere, namespaces) {
  const words = { queues: "queues", nodes: "nodes", podgroups: "pod groups", jobs: "jobs", pods: "pods" };
  const missing = Object.keys(words).filter((kind) => everywhere[kind] === false);
  const inNamespaces = missing.filter((kind) => !["queues", "nodes"].includes(kind)).map((kind) => words[kind]);
  const nowhere = missing.filter((kind) => ["queues", "nodes"].includes(kind)).map((kind) => words[kind]);
  const some = `${namespaces.slice(0, 5).join(", ")}${namespaces.length > 5 ? ` and ${namespaces.length - 5} more` : ""}`;
  const parts = [
    inNamespaces.length > 0 && (namespaces.length ? `${inNamespaces.join(", ")} only in ${some}` : `no ${inNamespaces.join(", no ")}`),
    nowhere.length > 0 && `no ${nowhere.join(", no ")}`,
  ].filter(Boolean);
  return parts.length ? `Your rights let you see ${parts.join(", and ")}; what is shown leaves the rest out.` : "";
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part behind # is the address of a page
  main.focus();
});
document.getElementById("logout").addEventListener("click", async () => {
  await post("/logout", {}).catch(() => {});
  location.assign("/");
});
addEventListener("hashchange", () => show());
store.need("queues").catch(() => {});
showSession();
show({ moveFocus: false });
