// The wait of one job as a distribution.
import { get, post } from "../api.js";
import { Chart, color, legend, shareAxis, waitAxis } from "../charts.js";
import { details, h, startRules, table } from "../dom.js";
import { about, count, duration, instant, likely, percent, plural, waitOf, waitScale } from "../format.js";
import { address } from "../state.js";
import { limits } from "./sizes.js";

const levels = [["p10", 0.1], ["p25", 0.25], ["p50", 0.5], ["p75", 0.75], ["p90", 0.9], ["p95", 0.95]];
const withins = [["1m", "1 min"], ["10m", "10 min"], ["1h", "1 h"], ["4h", "4 h"], ["1d", "1 d"]];

export const name = "How long would this job wait?";
export const needsQueue = true;
export const typed = true; // what is typed can be asked for by a button too

export function controls(state, ctx) {
  return [
    ctx.queueSelect(false),
    ctx.field("procs", "Processors", { type: "number", min: 1, max: ctx.capacity(state) || null, inputmode: "numeric", required: true, size: 6 }),
    ctx.field("time_limit", "Time limit", { type: "text", list: "limits", size: 8, placeholder: "2h", "aria-description": "such as 90m, 2:00:00, 1-12:00" }),
    ctx.field("by", "Starts by", { type: "text", size: 8, placeholder: "09:00", "aria-description": "a time of the day such as 09:00, or how long from now such as 2h" }),
  ];
}

export async function load(state, ctx, signal) {
  const answer = await get("/v1/wait", { cluster: state.cluster, queue: state.queue, procs: state.procs, time_limit: state.time_limit, by: nextTime(state.by, ctx.now()), curve: "true" }, signal);
  return { ...answer, rules: ctx.rules(state) };
}

// firstLimit returns a time limit for a first question that the queue takes: 2 h, or the longest that it takes below.
export async function firstLimit(state, signal) {
  const usual = "2h";
  try {
    const answer = await post("/v1/wait", { places: [{ cluster: state.cluster, queue: state.queue }], procs: [Number(state.procs) || 1], time_limits: limits.slice(0, 4).map(([l]) => l) }, signal);
    const longest = Math.max(...answer.candidates.map((c) => c.time_limit_seconds));
    return limits.find(([, , seconds]) => seconds === longest)?.[0] ?? usual;
  } catch (err) {
    if (err.name === "AbortError") throw err;
    return usual; // the question itself says what is wrong
  }
}

// nextTime turns a time of the day into its next occurrence in the reader's zone, by the daemon's clock; anything else is the API's to read.
export function nextTime(text, now = new Date()) {
  const clock = /^(\d{1,2}):(\d{2})$/.exec(text ?? "");
  if (!clock || Number(clock[1]) > 23 || Number(clock[2]) > 59) return text;
  const at = new Date(now.getFullYear(), now.getMonth(), now.getDate(), Number(clock[1]), Number(clock[2]));
  if (at <= now) at.setDate(at.getDate() + 1);
  return at.toISOString();
}

// by says how probable a start by an instant is. Beyond the outermost levels only those are certain.
function by(w) {
  const b = w.start_by;
  if (!b) return null;
  const text = b.at_least >= levels.at(-1)[1] ? `at least ${percent(b.at_least)}` : b.at_most <= levels[0][1] ? `at most ${percent(b.at_most)}` : percent(b.probability);
  return h("p", {}, "a start by ", h("b", {}, instant(b.at, w.as_of)), " is ", h("b", {}, likely(b.probability)), ", with a probability of ", h("b", { data: { name: "by", value: b.probability } }, text));
}

// curve returns what is drawn: the points that the API has, on the logarithmic scale.
function curve(points) {
  const xs = points.map((p) => waitScale(p.seconds));
  return { xs, ys: points.map((p) => p.probability), from: xs[0], to: xs.at(-1) };
}

// bands fills the area under the curve by the quantiles it lies between.
function bands(q, u) {
  const { left, width } = u.bbox;
  const g = u.ctx.createLinearGradient(left, 0, left + width, 0);
  const stop = (k) => (q[k] === null ? 1 : Math.min(1, Math.max(0, (u.valToPos(waitScale(q[k]), "x", true) - left) / width)));
  let last = color("band-tail");
  g.addColorStop(0, last);
  for (const [k, name] of [["p10", "band-outer"], ["p25", "band-inner"], ["p75", "band-outer"], ["p90", "band-tail"]]) {
    g.addColorStop(stop(k), last);
    last = color(name);
    g.addColorStop(stop(k), last);
  }
  g.addColorStop(1, last);
  return g;
}

function medianLine(q) {
  return (u) => {
    if (q.p50 === null) return;
    const x = u.valToPos(waitScale(q.p50), "x", true), { ctx } = u;
    ctx.save();
    ctx.strokeStyle = color("median");
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, u.valToPos(0, "y", true));
    ctx.lineTo(x, u.valToPos(0.5, "y", true));
    ctx.lineTo(u.bbox.left, u.valToPos(0.5, "y", true));
    ctx.stroke();
    ctx.restore();
  };
}

export function start() {
  const chart = new Chart("Chance of a start within", { height: 250 });
  return { charts: [chart], element: h("div", { class: "answer" }), chart };
}

export function render(live, w, state) {
  const q = w.wait_seconds, { xs, ys, from, to } = curve(w.curve);
  live.chart.show({
    label: `Half of such jobs start within ${duration(q.p50)}, nine in ten within ${duration(q.p90)}. The same figures are in the tables below.`,
    data: [xs, ys],
    rest: "Point at the curve, or use the arrow keys, to read it.",
    readout: (i) => `within ${duration(waitOf(xs[i]))}: ${percent(ys[i])}`,
    options: (width) => ({
      scales: { x: { time: false, range: () => [from, to] }, y: { range: () => [0, 1.02] } },
      series: [{}, { stroke: color("median"), width: 2, fill: (u) => bands(q, u), points: { show: false } }],
      axes: [waitAxis(width - 60, 58), shareAxis()],
      hooks: { draw: [medianLine(q)] },
    }),
  });
  return [headline(w), h("div", { class: "card" }, live.chart.element, legend(["outer", "8 of 10 cases"], ["inner", "half the cases"], ["line", "median"])), h("section", { class: "pair" }, figures(w), why(w)), sooner(w, state), startRules(w.queue, w.rules), methods(w)];
}

function headline(w) {
  const q = w.wait_seconds;
  return h("section", { class: "hero card", "aria-label": "The forecast" },
    h("p", { class: "big" }, h("span", { class: "label" }, "Median wait"), h("strong", { data: { name: "median", value: q.p50 }, title: duration(q.p50) }, q.p50 >= 45 ? "about " + about(q.p50) : about(q.p50))),
    h("p", {}, "starts at ", h("b", {}, instant(w.start.p50, w.as_of)), " in the median"),
    by(w),
    h("p", { class: "range" }, "nine in ten such jobs start within ", h("b", { data: { name: "p90", value: q.p90 }, title: duration(q.p90) }, about(q.p90)), q.p10 === 0 ? ", one in ten " : ", one in ten within ", h("b", { title: duration(q.p10) }, q.p10 === 0 ? "at once" : about(q.p10))),
    h("p", { class: "muted" }, w.basis.waits_learnt ? `learnt from ${plural(w.basis.similar_waits, "wait")} of such jobs, ${count(w.basis.waits_learnt)} in all` : "no wait has been learnt yet"),
    table("Chance of a start", ["Within", { name: "chance", num: true }], withins.map(([k, text]) => [text, { text: percent(w.start_within[k]), value: w.start_within[k], name: k }]), { caption: false }));
}

function figures(w) {
  const q = w.wait_seconds;
  return h("div", { class: "card" }, table("Quantiles of the wait", ["Of 100 such jobs", { name: "wait at most", num: true }, { name: "start by", num: true }],
    levels.map(([k, p]) => [`${Math.round(p * 100)}`, { text: duration(q[k]), value: q[k], name: k }, instant(w.start[k], w.as_of)])));
}

function why(w) {
  const st = w.state, unit = { procs: "processors", nodes: "nodes", gpus: "GPUs", memory: "shares of memory" }[st.binds];
  const rows = (w.waits_for ?? []).map((p) => [p.id, { text: count(p.procs), value: p.procs }, duration(p.age_seconds), duration(p.remaining_p50_seconds), percent(p.share)]);
  return h("div", { class: "card" },
    h("h2", {}, "Why"),
    h("p", { data: { name: "reason" } }, w.reason),
    h("dl", { class: "facts" },
      [["free", `${count(st.free)} of ${count(st.capacity)} ${unit}`], ["running", plural(st.running_jobs, "job")], ["ahead", `${plural(st.queued_ahead_jobs, "job")}, ${count(st.queued_ahead)} ${unit}`], ["must be freed", `${count(st.needed)} ${unit}`]]
        .map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v)))),
    rows.length ? details("Running jobs that the start hangs on",
      table("Running jobs that the start hangs on", ["Job", { name: "processors", num: true }, { name: "has run", num: true }, { name: "goes on, median", num: true }, { name: "decides in", num: true }], rows, { caption: false })) : null);
}

function sooner(w, state) {
  if (!w.sooner?.length) return null;
  return h("section", { class: "card" }, h("h2", {}, "What would start sooner"), h("ul", { class: "plain" }, w.sooner.map((o) => {
    const limit = o.time_limit_seconds ? String(o.time_limit_seconds) : "";
    const what = { procs: plural(o.procs, "processor"), time_limit: `a time limit of ${duration(o.time_limit_seconds)}`, queue: `queue ${o.queue}` }[o.changes] ?? o.changes;
    const to = address({ ...state, queue: o.queue, procs: String(o.procs), time_limit: o.changes === "time_limit" ? limit : state.time_limit });
    return h("li", {}, h("a", { href: to, data: { key: "sooner-" + o.changes, nav: "" } }, what), o.gain_seconds === null ? `: this job never starts, ${o.if} that one does` : `: about ${about(o.gain_seconds)} sooner in the median, materially sooner in ${percent(o.probability)} of cases, ${o.if}`);
  })));
}

function methods(w) {
  const rows = w.methods.map((m) => [m.name, { text: m.cannot_say ? "–" : duration(m.median_seconds), value: m.median_seconds }, m.cannot_say?.detail ?? "", (m.ignores ?? []).join(", ").replaceAll("_", " ")]);
  return details("What single methods say", table("What single methods say", ["Method", { name: "median", num: true }, { name: "why not", class: "wide" }, { name: "ignores", class: "wide" }], rows, { caption: false }));
}
