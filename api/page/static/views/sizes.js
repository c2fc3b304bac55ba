// The wait by size and time limit, as a map.
import { post } from "../api.js";
import { legend } from "../charts.js";
import { h } from "../dom.js";
import { brief, duration } from "../format.js";
import { address } from "../state.js";

export const name = "How the wait depends on size and time limit";
export const needsQueue = true;

export const limits = [["10m", "10 min", 600], ["30m", "30 min", 1800], ["1h", "1 h", 3600], ["2h", "2 h", 7200], ["4h", "4 h", 14400], ["8h", "8 h", 28800], ["12h", "12 h", 43200], ["1d", "1 d", 86400]];
const inSeconds = Object.fromEntries(limits.map(([l, , seconds]) => [l, seconds]));
const columns = 8;

// steps are the waits at which the color changes; there is one color more.
const steps = [60, 300, 900, 3600, 10800, 28800, 86400];
export const shade = (seconds) => (seconds === null ? steps.length : steps.filter((x) => seconds >= x).length);

// sizes returns powers of two up to the capacity, at most eight, evenly spread.
export function sizes(capacity) {
  const top = Math.floor(Math.log2(Math.max(1, capacity || 64)));
  const n = Math.min(columns, top + 1);
  return [...new Set(Array.from({ length: n }, (_, i) => 2 ** Math.round((top * i) / Math.max(1, n - 1))))];
}

export function controls(_state, ctx) {
  return [ctx.queueSelect(false), ctx.choice("level", "Wait shown", [["p50", "median"], ["p90", "nine in ten at most"]])];
}

export async function load(state, ctx, signal) {
  for (let capacity = ctx.capacity(state) || 64; ; capacity /= 2) {
    const procs = sizes(capacity);
    try {
      const answer = await post("/v1/wait", { places: [{ cluster: state.cluster, queue: state.queue }], procs, time_limits: limits.map(([l]) => l) }, signal);
      return { ...answer, procs };
    } catch (err) { // refused if the queue never takes any of the sizes
      if (!["larger_than_machine", "over_queue_limit", "over_limit"].includes(err.reason) || capacity < 2) throw err;
    }
  }
}

export const start = () => ({ charts: [], element: h("div", {}) });

// arrows moves the focus over the cells of the map.
function arrows(e) {
  const cell = e.target.closest("td"), row = cell?.parentElement;
  const to = { ArrowLeft: cell?.previousElementSibling, ArrowRight: cell?.nextElementSibling, ArrowUp: row?.previousElementSibling?.children[cell?.cellIndex], ArrowDown: row?.nextElementSibling?.children[cell?.cellIndex] }[e.key];
  const link = to?.querySelector?.("a");
  if (!link) return;
  e.preventDefault();
  link.focus();
}

export function render(_live, answer, state) {
  const level = state.level === "p90" ? "p90" : "p50";
  const found = new Map(answer.candidates.map((c) => [`${c.procs}/${c.time_limit_seconds}`, c]));
  const out = new Map(answer.left_out.map((c) => [c.procs, c]));
  const readout = h("p", { class: "readout", "aria-live": "polite" }, "A cell is a job: choose one for its forecast. Arrow keys move between them.");
  const say = (c) => () => { readout.textContent = `${c.procs} processors for ${duration(c.time_limit_seconds)}: median wait ${duration(c.wait_seconds.p50)}, nine in ten within ${duration(c.wait_seconds.p90)}`; };
  const cell = (procs, [limit, text]) => {
    const key = `${procs}/${inSeconds[limit]}`, c = found.get(key);
    if (!c) return h("td", { class: "none" }, h("span", { title: out.get(procs)?.detail ?? "no forecast" }, "–"));
    const wait = c.wait_seconds[level];
    return h("td", { class: "h" + shade(wait), data: { value: wait, name: `${procs}/${limit}` } }, h("a", {
      href: address({ ...state, view: "wait", procs: String(procs), time_limit: limit, level: "" }), data: { key, nav: "" }, onfocus: say(c), onmouseenter: say(c),
      "aria-label": `${procs} processors, ${text}: ${duration(wait)}`,
    }, brief(wait)));
  };
  const taken = limits.filter(([l]) => answer.candidates.some((c) => c.time_limit_seconds === inSeconds[l]));
  const procs = answer.procs.filter((p) => answer.candidates.some((c) => c.procs === p)); // what the queue takes
  const map = h("table", { class: "heat", onkeydown: arrows },
    h("caption", {}, level === "p90" ? "Wait that nine in ten such jobs do not exceed, now" : "Median wait of a job submitted now"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "corner" }, "limit \\ procs")), procs.map((p) => h("th", { scope: "col", class: "num" }, String(p))))),
    h("tbody", {}, taken.map((l) => h("tr", {}, h("th", { scope: "row" }, l[1]), procs.map((p) => cell(p, l))))));
  return [
    h("section", { class: "card" }, map, readout, legend(["h0", `under ${duration(steps[0])}`], ...steps.map((x, i) => ["h" + (i + 1), `from ${duration(x)}`]))),
    answer.advice.length ? h("section", { class: "card" }, h("h2", {}, "Advice"), h("ul", { class: "plain" }, answer.advice.map((a) => h("li", {}, a)))) : null,
  ];
}
