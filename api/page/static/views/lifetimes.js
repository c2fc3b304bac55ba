// The lifetimes of a queue's jobs, and the line fitted through them.
import { get } from "../api.js";
import { Chart, color, legend, lifeAxis, shareAxis } from "../charts.js";
import { details, h, table } from "../dom.js";
import { count, digits, duration, percent, plural, roughly } from "../format.js";

export const name = "How long jobs run";
export const needsQueue = true;

const minute = 60e3;
const kinds = ["sequential", "parallel"];

export const controls = (_state, ctx) => [ctx.queueSelect(false), ctx.choice("class", "Jobs", [["", "the more frequent"], ["sequential", "sequential (one processor)"], ["parallel", "parallel"]])];

export async function load(state, ctx, signal) {
  const path = `/v1/models/${encodeURIComponent(state.queue)}`;
  const [curves, models] = await Promise.all([
    get(path + "/lifetimes", { cluster: state.cluster }, signal),
    ctx.cached(`${path} ${state.cluster}`, minute, () => get(path, { cluster: state.cluster }, signal)), // it is a pass over the queue's history
  ]);
  return { ...curves, models };
}

export function start() {
  const chart = new Chart("Share of jobs that end within", { height: 320 });
  return { charts: [chart], element: h("div", {}), chart };
}

// line is Downey's: cdf(t) = b0 + b1 ln t, straight on this axis.
const line = (fit) => (x) => Math.min(1, Math.max(0, fit.b0 + fit.b1 * x));

// share returns the part of the quantiles that a time reaches, on a straight line between them.
function share(quantiles, levels) {
  const xs = quantiles.map((q) => (q === null ? Infinity : Math.log(Math.max(q, 1e-3))));
  return (x) => {
    if (x < xs[0]) return 0;
    let i = 1;
    while (i < xs.length && xs[i] <= x) i++;
    if (i >= xs.length) return levels[xs.length - 1];
    if (!Number.isFinite(xs[i])) return levels[i - 1];
    return levels[i - 1] + ((levels[i] - levels[i - 1]) * (x - xs[i - 1])) / (xs[i] - xs[i - 1]);
  };
}

export function render(live, data, state) {
  if (!data.curves.length) return [h("p", { class: "notice" }, `No job of queue ${data.queue} has ended yet.`)];
  const busier = data.curves[1].fit.n >= data.curves[0].fit.n ? 1 : 0;
  const i = kinds.includes(state.class) ? kinds.indexOf(state.class) : busier;
  const c = data.curves[i], laws = data.models.laws[i];
  if (!c.observed_seconds.length) return [h("p", { class: "notice" }, `No ${kinds[i]} job of queue ${data.queue} has ended yet.`)];
  draw(live.chart, c, data.levels);
  const fitted = c.fit.fitted_at;
  const entries = [["steps", "observed"], ...(fitted ? [["dashed", "line fitted (Downey)"]] : []), ...(c.fit.law && c.fit.law !== "uniform_log" ? [["law", `law that forecasts take (${c.fit.law.replaceAll("_", " ")})`]] : [])];
  return [
    h("p", { class: "lead" }, `${plural(c.fit.n, `${kinds[i]} job`)} of queue ${data.queue}.`, fitted ? "" : " Too few lifetimes, or all alike: no line could be fitted."),
    h("section", { class: "card" }, live.chart.element, legend(...entries)),
    h("section", { class: "pair" }, h("div", { class: "card" }, quantiles(c, data.levels)), h("div", { class: "card" }, parameters(c))),
    laws ? competition(laws) : null,
  ];
}

function draw(chart, c, levels) {
  const finite = c.observed_seconds.filter((x) => x > 0), fit = c.fit.fitted_at ? line(c.fit) : null;
  const from = Math.log(Math.max(1, finite[0])) - 0.2, to = Math.log(finite.at(-1)) + 0.3, n = 200;
  const law = c.fit.law && c.fit.law !== "uniform_log" && c.law_seconds.length ? share(c.law_seconds, levels) : null;
  const observed = share(c.observed_seconds, levels);
  const knots = fit ? [c.fit.tmin_seconds, c.fit.tmax_seconds].map(Math.log).filter((x) => x > from && x < to) : [];
  const xs = [...new Set([...Array.from({ length: n + 1 }, (_, i) => from + ((to - from) * i) / n), ...knots])].sort((a, b) => a - b);
  chart.show({
    label: `Half of the jobs end within ${duration(c.observed_seconds[50])}, nine in ten within ${duration(c.observed_seconds[90])}. The same figures are in the tables below.`,
    data: [xs, xs.map(observed), fit ? xs.map(fit) : xs.map(() => null), law ? xs.map(law) : xs.map(() => null)],
    rest: `half of the jobs end within ${roughly(c.observed_seconds[50])}`,
    readout: (i) => `within ${duration(Math.exp(xs[i]))}: observed ${percent(observed(xs[i]))}` + (fit ? `, line ${percent(fit(xs[i]))}` : "") + (law ? `, law ${percent(law(xs[i]))}` : ""),
    options: (width) => ({
      scales: { x: { time: false, range: () => [from, to] }, y: { range: () => [0, 1.02] } },
      series: [{}, { stroke: color("median"), width: 2.5, fill: color("band-tail"), points: { show: false } },
        { stroke: color("fact"), width: 2, dash: [7, 5], points: { show: false } }, { stroke: color("ink"), width: 1, dash: [2, 3], points: { show: false } }],
      axes: [lifeAxis(width - 60, 52), shareAxis()],
    }),
  });
}

function quantiles(c, levels) {
  const at = (list, p) => list[levels.indexOf(p)];
  const fitted = (p) => (c.fit.fitted_at ? Math.exp((p - c.fit.b0) / c.fit.b1) : undefined);
  const time = (x) => (x === undefined ? "–" : { text: duration(x), value: x });
  return table("Quantiles of the lifetimes", ["Of 100 jobs", { name: "end within", num: true }, { name: "by the line", num: true }, { name: "by the law", num: true }],
    [0.1, 0.25, 0.5, 0.75, 0.9, 0.95].map((p) => [String(Math.round(p * 100)), { ...time(at(c.observed_seconds, p)), name: `observed/${p}` }, time(fitted(p)), time(at(c.law_seconds, p))]));
}

function parameters(c) {
  const f = c.fit;
  const rows = f.fitted_at ? [
    ["cdf(t)", { text: `${digits(f.b0)} + ${digits(f.b1)} ln t`, value: `${f.b0} ${f.b1}`, name: "line" }], ["from", { text: duration(f.tmin_seconds), value: f.tmin_seconds, name: "tmin" }], ["to", { text: duration(f.tmax_seconds), value: f.tmax_seconds, name: "tmax" }],
    ["R²", { text: f.r2.toFixed(3), value: f.r2, name: "r2" }], ["Kolmogorov-Smirnov distance", { text: f.ks?.toFixed(3), value: f.ks, name: "ks" }],
  ] : [];
  return table("The line", ["Figure", { name: "value", num: true }], [["lifetimes", { text: count(f.n), value: f.n, name: "n" }], ...rows]);
}

function competition(laws) {
  const rows = laws.scores.map((l) => [l.law.replaceAll("_", " ") + (l.law === laws.chosen ? " (chosen)" : ""), l.log_score === null ? "–" : l.log_score.toFixed(3), count(l.scored), l.reason ?? ""]);
  return details("Laws that compete", laws.reason ? h("p", { class: "muted" }, laws.reason) : null,
    table("Laws that compete", ["Law", { name: "log score, higher is better", num: true }, { name: "lifetimes", num: true }, { name: "why no fit", class: "wide" }], rows, { caption: false }));
}
