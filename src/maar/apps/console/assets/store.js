// What the page knows of the cluster: rows of queues, jobs and nodes, loaded once and kept by server-sent events.
//
// A topic is loaded when a page first needs it, and followed from then on. Every batch of changes has the number of
// the version that it leads to; a topic that was loaded at a later version skips it. Subscribers are called once per
// frame at most, with the keys that have changed. While the tab is hidden nothing is received; afterwards the stream
// goes on where it was, or, where the server no longer has what came between, everything is loaded again.

import { get } from "./api.js";

const KEY_OF = { queues: "name", jobs: "key", nodes: "name" };
const RETRY_MS = 3000;

class Store {
  queues = new Map();
  jobs = new Map();
  nodes = new Map();
  /** "" while everything is well, otherwise a sentence */
  problem = "";
  state = "connecting";
  /** what to say about the state */
  sentence = "";
  #versions = {}; // of each topic that is loaded
  #stream = null;
  #wanted = new Set();
  #follows = new Set(); // topics of the stream
  #subscribers = new Set();
  #changed = {};
  #frame = 0;
  #retry = 0;

  constructor() {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#open()));
  }

  /** Load topics that are not loaded yet; those that come first are drawn first. */
  async need(...topics) {
    for (const topic of topics) {
      if (this.#wanted.has(topic)) continue;
      this.#wanted.add(topic);
      try {
        await this.#load([topic]);
      } catch (error) {
        if (!error.status || error.status >= 500) this.#lost(error.message);
        else this.#wanted.delete(topic); // refused, and asking again will not help
        throw error;
      }
    }
    if (!this.#stream || topics.some((topic) => !this.#follows.has(topic))) this.#open();
  }

  isLoaded(topic) {
    return topic in this.#versions;
  }

  /** Call `work(changed)` when rows change; `changed` has a set of keys for each topic. Returns how to stop that. */
  subscribe(work) {
    this.#subscribers.add(work);
    return () => this.#subscribers.delete(work);
  }

  async #load(topics) {
    const answer = await get("/api/rows", { topics: topics.join(",") });
    for (const topic of topics) {
      const old = this[topic];
      this[topic] = new Map((answer[topic] ?? []).map((row) => [row[KEY_OF[topic]], row]));
      this.#versions[topic] = answer.version;
      this.#mark(topic, [...old.keys(), ...this[topic].keys()]);
    }
    this.#tell(answer.problem ?? "");
  }

  #open() {
    this.#close();
    if (document.hidden || !this.#wanted.size) return;
    const topics = [...this.#wanted].filter((topic) => this.isLoaded(topic));
    this.#follows = new Set(topics);
    if (!topics.length) return;
    const after = Math.min(...topics.map((topic) => this.#versions[topic]));
    const stream = new EventSource(`/api/events?topics=${topics.join(",")}&after=${after}`);
    this.#stream = stream;
    stream.addEventListener("open", () => this.#setState("live"));
    stream.addEventListener("rows", (event) => this.#take(JSON.parse(event.data)));
    stream.addEventListener("state", (event) => this.#tell(JSON.parse(event.data).problem ?? ""));
    stream.addEventListener("reset", () => this.#reload());
    stream.addEventListener("error", () => {
      if (stream === this.#stream) this.#lost("The console's server does not answer; trying again.");
    });
  }

  #close() {
    this.#stream?.close();
    this.#stream = null;
    clearTimeout(this.#retry);
  }

  /** The stream broke: ask why in a moment (a session may have ended), then follow again. */
  #lost(sentence) {
    this.#close();
    this.#setState("lost", sentence);
    this.#retry = setTimeout(async () => {
      try {
        await get("/api/me");
        await this.#reload();
      } catch (error) {
        if (error.status !== 401) this.#lost(sentence);
      }
    }, RETRY_MS);
  }

  async #reload() {
    this.#close();
    try {
      await this.#load([...this.#wanted]);
      this.#open();
    } catch (error) {
      if (error.status !== 401) this.#lost(error.message);
    }
  }

  #take(batch) {
    for (const topic of this.#follows) {
      const part = batch[topic];
      if (part && !(batch.version <= this.#versions[topic])) {
        const rows = this[topic];
        const key = KEY_OF[topic];
        for (const row of part.rows ?? []) rows.set(row[key], row);
        for (const gone of part.gone ?? []) rows.delete(gone);
        this.#mark(topic, [...(part.rows ?? []).map((row) => row[key]), ...(part.gone ?? [])]);
      }
      if (topic in this.#versions) this.#versions[topic] = Math.max(this.#versions[topic], batch.version);
    }
    this.#setState("live");
  }

  #mark(topic, keys) {
    const changed = (this.#changed[topic] ??= new Set());
    for (const key of keys) changed.add(key);
    this.#frame ||= requestAnimationFrame(() => {
      const all = this.#changed;
      this.#frame = 0;
      this.#changed = {};
      for (const work of this.#subscribers) work(all);
    });
  }

  #tell(problem) {
    this.problem = problem;
    this.#show();
  }

  #setState(state, sentence = "") {
    if (this.state === state && this.sentence === sentence) return;
    this.state = state;
    this.sentence = sentence;
    this.#show();
  }

  #show() {
    const text = this.problem || this.sentence;
    const banner = document.getElementById("banner");
    if (banner.textContent !== text) banner.textContent = text;
    banner.hidden = !text;
    const live = document.getElementById("live");
    live.dataset.state = this.problem ? "lost" : this.state;
    document.getElementById("live-text").textContent = this.problem ? "not connected" : { live: "live", lost: "not connected" }[this.state] ?? this.state;
  }
}

export const store = new Store();
