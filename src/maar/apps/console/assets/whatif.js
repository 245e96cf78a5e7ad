// What would happen if: weights and guarantees changed, nodes came or went, a manifest was submitted.
// The server decides; the page asks again a moment after the last change. Only Apply, where the console may write,
// changes the cluster.

import { post } from "./api.js";
import { afterPause, button, heading, problemOf, textField } from "./controls.js";
import { announce, fill, h, setText } from "./dom.js";
import { newQueueFields } from "./whatif_queue.js";
import { showAnswer } from "./whatif_answer.js";
import { resourcesOf, ROOT } from "./queue_order.js";
import { address, route } from "./route.js";
import { store } from "./store.js";

const PAUSE_MS = 350;

export function openWhatIf(main, _parts, me) {
  const { choices } = route();
  const state = { set: new Map(), addNodes: choices.get("addNodes") ?? "", drain: choices.get("drain") ?? "", submit: "" };
  for (const one of choices.getAll("set")) {
    const [path, ...value] = one.split("=");
    state.set.set(path, value.join("="));
  }
  const chosen = new Set([...(choices.get("queue") ? [choices.get("queue")] : []), ...[...state.set.keys()].map(queueOf).filter(Boolean)]);

  const answer = h("section.answer", { "aria-label": "What would happen", "aria-live": "polite" });
  const names = h("datalist", { id: "queue-names" });
  const fields = h("div.whatif-queues");
  const ofQueue = new Map(); // the fields of each chosen queue
  const pick = textField("Change a queue", "", () => {}, { list: "queue-names", placeholder: "its name", onchange: () => add(pick.field.value), onkeydown: (event) => event.key === "Enter" && add(pick.field.value) });
  const addNodes = textField("Nodes added", state.addNodes, (value) => set("addNodes", value), { placeholder: "4x8cpu,32Gi" });
  const drain = textField("Nodes taken away", state.drain, (value) => set("drain", value), { placeholder: "node-1, node-2" });
  const submit = h("textarea", { rows: "5", spellcheck: "false", placeholder: "a manifest, as for kubectl apply -f", oninput: () => set("submit", submit.value) });
  const apply = button("Apply", confirmApply, { class: "danger", hidden: true });
  const applied = h("div", { "aria-live": "polite" });
  const summary = h("p.summary", {}, "Nothing here changes the cluster.");
  main.replaceChildren(
    heading("What if", summary),
    h("div.whatif", {},
      h("form.card.changes", { "aria-label": "Changes", onsubmit: (event) => event.preventDefault() },
        h("div.controls", {}, pick.element, names), fields,
        h("div.controls", {}, addNodes.element, drain.element),
        h("label.field.wide", {}, h("span", {}, "Submitted"), submit),
        h("div.controls", {}, button("Start over", () => {
          location.hash = address("whatif");
          dispatchEvent(new HashChangeEvent("hashchange"));
        }), apply), applied),
      answer));

  me.then(({ writes }) => {
    apply.hidden = !writes;
    if (writes) setText(summary, "Nothing changes the cluster until you press Apply.");
  }).catch(() => {});

  function set(name, value) {
    state[name] = value;
    changed();
  }

  /** A field of a queue has another value; an empty one is not changed. */
  function setField(path, value) {
    if (value === "") state.set.delete(path);
    else state.set.set(path, value);
    changed();
  }

  function add(name) {
    if (!store.queues.has(name)) return;
    pick.field.value = "";
    chosen.add(name);
    showFields();
    fields.lastElementChild?.querySelector("input")?.focus();
  }

  function showFields() {
    for (const name of chosen) {
      const queue = store.queues.get(name);
      if (!queue) continue;
      if (!ofQueue.has(name)) {
        ofQueue.set(name, newQueueFields(queue, resourcesOf(store.queues), state.set, setField));
        fields.append(ofQueue.get(name).element);
      } else ofQueue.get(name).show(queue);
    }
  }

  const body = () => ({
    set: [...state.set].map(([path, value]) => `${path}=${value}`),
    addNodes: state.addNodes.split(/[;\n]/).map((one) => one.trim()).filter(Boolean),
    drain: state.drain.split(/[\s,]+/).filter(Boolean),
    delete: [],
    submit: state.submit,
  });
  const isEmpty = (asked) => !asked.set.length && !asked.addNodes.length && !asked.drain.length && !asked.submit.trim();

  let control = new AbortController();
  const askSoon = afterPause(ask, PAUSE_MS);
  function changed() {
    const kept = new URLSearchParams();
    for (const one of body().set) kept.append("set", one);
    if (state.addNodes) kept.set("addNodes", state.addNodes);
    if (state.drain) kept.set("drain", state.drain);
    history.replaceState(null, "", address("whatif", [], kept));
    apply.disabled = isEmpty(body());
    fill(applied);
    askSoon();
  }

  async function ask() {
    control.abort();
    const asked = body();
    if (isEmpty(asked)) {
      fill(answer, h("p.quiet", {}, "Change something: a weight, a guarantee, nodes, or a manifest to submit. The tree as it would be appears here."));
      return;
    }
    control = new AbortController();
    answer.setAttribute("aria-busy", "true");
    try {
      showAnswer(answer, await post("/api/whatif", asked, control.signal));
      announce("The answer is there.");
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(answer, problemOf(error));
    }
    answer.removeAttribute("aria-busy");
  }

  async function confirmApply() {
    const asked = body();
    const changes = [...asked.set, ...asked.addNodes.map((one) => `add ${one}`), ...asked.drain.map((one) => `cordon ${one}`), ...(asked.submit.trim() ? ["create what is submitted"] : [])];
    if (!confirm(`Make this change in the cluster, with your own rights?\n\n${changes.join("\n")}`)) return;
    apply.disabled = true; // and when all is done, until there is another change
    try {
      const done = await post("/api/apply", asked);
      fill(applied, (done.done ?? []).map((one) => h("p.done", {}, one)), (done.notDone ?? []).map((one) => h("p.warning", {}, one)));
      apply.disabled = !done.notDone?.length;
    } catch (error) {
      fill(applied, problemOf(error));
      apply.disabled = false;
    }
  }

  const onRows = (all) => {
    if (!all.queues) return;
    if (names.childElementCount !== store.queues.size - 1) fill(names, [...store.queues.keys()].filter((one) => one !== ROOT).sort().map((one) => h("option", { value: one })));
    showFields();
  };
  onRows({ queues: true });
  const stop = store.subscribe(onRows);
  store.need("queues").catch((error) => fill(answer, problemOf(error)));
  apply.disabled = isEmpty(body());
  ask();
  return {
    title: "What if",
    close() {
      stop();
      control.abort();
    },
  };
}

/** The queue that a path such as `queue/research.weight` is about; names of queues may have dots themselves. */
function queueOf(path) {
  const found = /^queue\/(.+?)\.(weight|guarantee\..+|deserved\..+|capability\..+)$/.exec(path);
  return found ? found[1] : "";
}
