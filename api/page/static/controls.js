// What the reader can choose, kept in step with the address.
import { h, put } from "./dom.js";
import { limits } from "./views/sizes.js";

const typing = 400; // milliseconds without a key before what is typed is asked for

// makeContext returns what views need of the page: its controls, what is known of the queues, and a memory of answers.
export function makeContext(page, set) {
  let timer = null, pending = {};
  const kept = new Map();
  const flush = () => {
    clearTimeout(timer);
    if (Object.keys(pending).length) { const change = pending; pending = {}; set(change, true); }
  };
  const queues = (cluster) => page.queues.queues.filter((q) => q.cluster === cluster);
  const id = (name) => "choose-" + name;
  const labelled = (name, text, control) => h("div", { class: "field" }, h("label", { for: id(name) }, text), control);
  const select = (name, text, options, change) => labelled(name, text, h("select", { id: id(name), data: { key: id(name), of: name }, onchange: (e) => change(e.target.value) }, options.map(([v, t]) => h("option", { value: v }, t))));
  return {
    flush,
    // capacity returns the processors that a queue's jobs compete for, 0 where that is not known.
    capacity(state) {
      const q = queues(state.cluster).find((x) => x.name === state.queue);
      return page.queues.pools.find((p) => p.cluster === state.cluster && p.name === (q?.pool ?? ""))?.capacity.procs ?? 0;
    },
    // now returns the instant by the daemon's clock, which is another one than the reader's where it is simulated.
    now() {
      const { as_of, age_seconds } = page.queues;
      return page.health.simulated_speed && as_of && !as_of.startsWith("0001-") ? new Date(Date.parse(as_of) + 1000 * age_seconds) : new Date();
    },
    // typical returns the processors and the time limit of a typical job of a queue, nothing where none is known.
    typical: (state) => queues(state.cluster).find((q) => q.name === state.queue)?.typical ?? null,
    // rules returns what was learnt of the rules by which a queue's jobs start: sentences, none where that is not known.
    rules: (state) => queues(state.cluster).find((q) => q.name === state.queue)?.rules?.words ?? [],
    queueSelect(all) {
      const load = (q) => `${q.name} (${q.running_jobs} run, ${q.queued_jobs} wait)`;
      const options = () => [...(all ? [["", "all queues"]] : []), ...queues(page.state.cluster).map((q) => [q.name, load(q)]), ...((page.state.queue ?? "").includes(",") ? [[page.state.queue, page.state.queue]] : [])];
      return select("queue", "Queue", options(), (v) => set({ queue: v || undefined, offset: undefined }, false));
    },
    choice: (name, text, options) => select(name, text, options, (v) => set({ [name]: v || undefined }, false)),
    field(name, text, attributes) {
      const input = h("input", { id: id(name), data: { key: id(name), of: name }, autocomplete: "off", ...attributes, oninput: (e) => { pending[name] = e.target.value.trim(); clearTimeout(timer); timer = setTimeout(flush, typing); }, onchange: flush });
      return labelled(name, text, attributes.list ? [input, h("datalist", { id: attributes.list }, limits.map(([l]) => h("option", { value: l })))].reduce((box, el) => (box.append(el), box), h("span", {})) : input);
    },
    clusterSelect(el, clusters) {
      const key = clusters.join();
      if (el.dataset.clusters === key && el.firstElementChild) { const s = el.querySelector("select"); if (s) s.value = page.state.cluster; return; }
      el.dataset.clusters = key;
      put(el, clusters.length < 2 ? h("span", { class: "name" }, clusters[0] ?? "") : [
        h("label", { for: id("cluster"), class: "hidden" }, "Cluster"),
        h("select", { id: id("cluster"), data: { key: id("cluster") }, onchange: (e) => set({ cluster: e.target.value, queue: undefined, offset: undefined }, false) }, clusters.map((c) => h("option", { value: c, selected: c === page.state.cluster }, c)))]);
    },
    // sync brings the controls to what the address says, but for the one that is being typed in, and the loads beside the queues' names up to date.
    sync() {
      for (const el of document.querySelectorAll("#controls [data-of]")) {
        const wanted = page.state[el.dataset.of] ?? (el.tagName === "SELECT" ? el.options[0]?.value : "");
        if (el !== document.activeElement || el.tagName === "SELECT") if (el.value !== wanted) el.value = wanted;
        if (el.dataset.of !== "queue") continue;
        for (const q of queues(page.state.cluster)) {
          const option = [...el.options].find((o) => o.value === q.name), text = `${q.name} (${q.running_jobs} run, ${q.queued_jobs} wait)`;
          if (option && option.textContent !== text) option.textContent = text;
        }
      }
    },
    // cached asks again only after some milliseconds.
    async cached(key, ms, ask) {
      const old = kept.get(key);
      if (old && performance.now() - old.at < ms) return old.answer;
      const answer = await ask();
      if (kept.size > 50) kept.clear();
      kept.set(key, { at: performance.now(), answer });
      return answer;
    },
  };
}
