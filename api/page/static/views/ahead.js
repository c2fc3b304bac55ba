// The next 24 hours.
import { get } from "../api.js";
import { axis, Chart, dayAxis, fan, fanOrder, legend, waitAxis } from "../charts.js";
import { details, h, table } from "../dom.js";
import { count, duration, instant, percent, plural, waitScale } from "../format.js";

export const name = "The next 24 hours";

const hours = (x) => x / 3600;
const share = (x) => percent(x);
const series = [
  { key: "utilization", title: "Utilization, part of the cluster", of: (x) => x * 100, axis: (x) => `${x} %`, text: share, top: 100 },
  { key: "queued_jobs", title: "Waiting jobs", of: (x) => x, axis: count, text: count },
  { key: "queued_work_processor_seconds", title: "Waiting work, processor-hours", of: hours, axis: count, text: (x) => count(hours(x)) },
  { key: "jobs_per_hour", title: "Jobs that come, per hour", of: (x) => x, axis: count, text: count },
];
const quantiles = ["p05", "p25", "p50", "p75", "p95"];

export const controls = (_state, ctx) => [ctx.queueSelect(true)];

export const load = (state, _ctx, signal) => get("/v1/forecast", { cluster: state.cluster, queue: state.queue, hours: 24 }, signal);

export function start() {
  const charts = series.map((s) => new Chart(s.title, { height: 170 }));
  return { charts, element: h("div", {}), waits: new Map() };
}

// loadTop returns the top of an axis that follows the median: the upper bounds are cut where they are far above it, so that they do not squash it. Rows are in the order of fanOrder.
export function loadTop(rows) {
  const median = Math.max(...rows[fanOrder.indexOf("p50")]), quarter = Math.max(...rows[fanOrder.indexOf("p75")]);
  return Math.max(1, Math.min(Math.max(...rows.flat()), Math.max(2.5 * median, 1.2 * quarter))) * 1.08;
}

function showLoad(chart, s, load, made) {
  const xs = [Date.parse(made) / 1000, ...load.horizons.map((p) => Date.parse(p.at) / 1000)];
  const rows = fanOrder.map((q) => [s.of(load.now[s.key]), ...load.horizons.map((p) => s.of(p[s.key][q]))]);
  const top = s.top ? Math.max(s.top, ...rows.flat()) * 1.02 : loadTop(rows), at = (i, q) => (i === 0 ? load.now[s.key] : load.horizons[i - 1][s.key][q]);
  const last = load.horizons.at(-1);
  chart.show({
    label: `Now ${s.text(load.now[s.key])}. ${last ? `In ${duration(last.horizon_seconds)} ${s.text(last[s.key].p50)} in the median, from ${s.text(last[s.key].p05)} to ${s.text(last[s.key].p95)} in nine of ten cases.` : ""} The same figures are in the table below.`,
    data: [xs, ...rows],
    rest: `now ${s.text(load.now[s.key])}`,
    readout: (i) => (i === 0 ? `now ${s.text(at(0))}` : `${instant(xs[i] * 1000, made)}: ${s.text(at(i, "p50"))}, from ${s.text(at(i, "p05"))} to ${s.text(at(i, "p95"))}`),
    options: (width) => ({
      scales: { x: { time: false }, y: { range: () => [0, top] } }, ...fan(),
      axes: [dayAxis(width), axis({ size: 48, space: 34, values: (_u, v) => v.map(s.axis) })],
    }),
  });
}

// kinds groups the standard jobs, in the order they are told in.
function kinds(answer) {
  const out = new Map();
  for (const w of answer.standard_waits) {
    const key = w.pool ? `${w.job}, pool ${w.pool}` : w.job;
    if (!out.has(key)) out.set(key, []);
    out.get(key).push(w);
  }
  return out;
}

function showWaits(chart, key, list, made) {
  const from = Date.parse(made) / 1000, xs = list.map((w) => from + w.horizon_seconds);
  const rows = fanOrder.map((q) => list.map((w) => (w.wait_seconds[q] === null ? null : waitScale(w.wait_seconds[q]))));
  const top = Math.max(waitScale(1800), ...rows.flat().filter((x) => x !== null)) + 0.1;
  const text = (i) => { const q = list[i].wait_seconds; return `${duration(q.p50)}, from ${duration(q.p05)} to ${duration(q.p95)}`; };
  chart.show({
    label: `Submitted in ${duration(list.at(-1).horizon_seconds)} it would wait ${text(list.length - 1)}. The same figures are in the table below.`,
    data: [xs, ...rows], rest: "",
    readout: (i) => `submitted ${instant(xs[i] * 1000, made)}: ${text(i)}`,
    options: (width) => ({
      scales: { x: { time: false, range: (_u, _min, max) => [from, max] }, y: { range: () => [waitScale(0), top] } }, ...fan(),
      axes: [dayAxis(width), waitAxis(140, 26, { size: 54 })],
    }),
  });
}

export function render(live, answer) {
  const load = answer.loads[0];
  if (!load) return [h("p", { class: "notice" }, "Nothing is forecast for this queue yet.")];
  series.forEach((s, i) => showLoad(live.charts[i], s, load, answer.made_for));
  const groups = kinds(answer), waits = [];
  for (const [key, list] of groups) {
    let chart = live.waits.get(key);
    if (!chart) {
      chart = new Chart(`Wait of a standard job: ${key}`, { height: 170 });
      live.waits.set(key, chart);
      live.charts.push(chart);
    }
    showWaits(chart, key, list, answer.made_for);
    waits.push(h("div", { class: "card" }, chart.element));
  }
  return [
    h("p", { class: "lead" }, load.queue ? `Queue ${load.queue}` : "The whole cluster", `, forecast made for ${instant(answer.made_for, answer.as_of)}. ${sentence(answer.learnt.note)}${saturation(answer)}`),
    legend(["outer", "9 of 10 cases"], ["inner", "half the cases"], ["line", "median"]),
    h("div", { class: "grid" }, series.map((_, i) => h("div", { class: "card" }, live.charts[i].element)), waits),
    details("The figures", numbers(load), waitNumbers(answer)),
    answer.scores.length ? details("How such forecasts turned out", scores(answer)) : null,
  ];
}

const leastWeeks = 5; // by less the daemon calls no cluster saturated

const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}. ` : "");

function saturation(answer) {
  const s = answer.saturation;
  if (!s) return "";
  if (!s.saturated && s.growth_weeks < leastWeeks) return `Whether more jobs come than can be run is not known yet: it takes ${leastWeeks} weeks of records.`;
  const state = s.saturated ? "Saturated: jobs come faster than they can be run" : "Not saturated";
  const ahead = s.probability === null ? "" : ` If jobs go on coming as they do, they grow without bound with a probability of ${percent(s.probability)}.`;
  return `${state}; the jobs in the system grew by ${s.growth_jobs_per_week.toFixed(1)} a week.${ahead}`;
}

function numbers(load) {
  const rows = series.flatMap((s) => load.horizons.map((p) => [s.title, duration(p.horizon_seconds), ...quantiles.map((q) => ({ text: s.text(p[s.key][q]), value: p[s.key][q], name: `${s.key}/${p.horizon_seconds}/${q}` }))]));
  return table("Load ahead", ["Figure", { name: "in", num: true }, ...quantiles.map((name) => ({ name, num: true }))], rows);
}

function waitNumbers(answer) {
  const rows = answer.standard_waits.map((w) => [w.pool ? `${w.job}, pool ${w.pool}` : w.job, duration(w.horizon_seconds), ...quantiles.map((q) => ({ text: duration(w.wait_seconds[q]), value: w.wait_seconds[q] }))]);
  return table("Waits of standard jobs, by the simulation alone", ["Job", { name: "submitted in", num: true }, ...quantiles.map((name) => ({ name, num: true }))], rows);
}

function scores(answer) {
  const rows = answer.scores.map((s) => [s.series.replaceAll("_", " "), duration(s.horizon_seconds), count(s.n), s.losses.waitcast.toFixed(3), s.losses.persistence.toFixed(3), percent(s.below + s.above)]);
  return table(`Loss on ${plural(answer.scores.length, "series")}, the lower the better`, ["Series", { name: "in", num: true }, { name: "outcomes", num: true }, { name: "waitcast", num: true }, { name: "as it is now", num: true }, { name: "outside p05–p95", num: true }], rows);
}
