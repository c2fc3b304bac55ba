// Forecasts beside facts.
import { get } from "../api.js";
import { axis, Chart, color, legend, waitAxis } from "../charts.js";
import { details, h, s, table } from "../dom.js";
import { count, duration, instant, percent, waitScale } from "../format.js";

export const name = "Forecast and fact";

const shown = 60; // jobs in the chart: more cannot be told apart
const minute = 60e3;

export const controls = (_state, ctx) => [ctx.queueSelect(true), ctx.choice("made", "Forecasts made", [["", "as it happened, once there are 100"], ["live", "as it happened"], ["replayed", "after the fact"]])];

export async function load(state, ctx, signal) {
  const about = { cluster: state.cluster, queue: state.queue };
  const [recent, first] = await Promise.all([
    ctx.cached(`recent ${about.cluster} ${about.queue}`, minute / 4, () => get("/v1/accuracy/recent", { ...about, limit: shown }, signal)),
    ctx.cached(`accuracy ${about.cluster} ${about.queue}`, minute, () => get("/v1/accuracy", about, signal)), // it reads the whole ledger
  ]);
  const made = madeOf(state, first), more = first.next_offset !== null && made === "replayed"; // the first page has what was made live
  const accuracy = more ? await ctx.cached(`accuracy ${about.cluster} ${about.queue} ${made}`, minute, () => get("/v1/accuracy", { ...about, made }, signal)) : first;
  return { recent, accuracy, as_of: recent.as_of, age_seconds: recent.age_seconds, stale: recent.stale };
}

export function start() {
  const chart = new Chart("The newest starts: forecast wait and fact", { height: 280 });
  return { charts: [chart], element: h("div", {}), chart };
}

export const inside = (f) => f.forecast_seconds.p10 <= f.wait_seconds && (f.forecast_seconds.p90 === null || f.wait_seconds <= f.forecast_seconds.p90);

// paint draws a bar for each forecast and a mark for the fact: a dot inside the band, a diamond outside.
function paint(list) {
  return (u) => {
    const { ctx } = u, r = devicePixelRatio, wide = Math.max(2 * r, Math.min(9 * r, (u.bbox.width / Math.max(1, list.length)) * 0.62));
    const y = (seconds) => (seconds === null ? u.bbox.top : u.valToPos(waitScale(seconds), "y", true));
    const bar = (x, a, b, fill, w) => { ctx.fillStyle = fill; ctx.fillRect(x - w / 2, Math.min(y(a), y(b)), w, Math.max(r, Math.abs(y(a) - y(b)))); };
    const [outer, inner, median, ink, miss] = ["band-outer", "band-inner", "median", "ink", "fact"].map(color);
    ctx.save();
    list.forEach((f, i) => {
      const x = u.valToPos(i, "x", true), q = f.forecast_seconds;
      bar(x, q.p10, q.p90, outer, wide);
      bar(x, q.p25, q.p75, inner, wide);
      bar(x, q.p50, q.p50, median, wide);
      const fy = y(f.wait_seconds), ok = inside(f), size = (ok ? 2.6 : 4) * r;
      ctx.fillStyle = ok ? ink : miss;
      ctx.beginPath();
      if (ok) ctx.arc(x, fy, size, 0, 7);
      else for (const [dx, dy] of [[0, -size], [size, 0], [0, size], [-size, 0]]) ctx.lineTo(x + dx, fy + dy);
      ctx.fill();
    });
    ctx.restore();
  };
}

export function render(live, { recent, accuracy }, state) {
  const list = recent.forecasts.filter((f) => f.forecast_seconds && (!state.made || f.made === state.made)).reverse();
  const made = madeOf(state, accuracy);
  const group = accuracy.groups.find((g) => g.made === made && g.queue === (state.queue ?? "") && g.size_class === "");
  return [list.length ? newest(live, list, recent) : h("p", { class: "notice" }, "No job that was forecast has started yet."), ...(group ? [calibration(group, accuracy), methods(group), classes(accuracy, made)] : [])];
}

const madeOf = (state, accuracy) => state.made || (enough(accuracy.groups) ? "live" : "replayed");

// enough tells whether so many forecasts were made as it happened that they tell something, or all were.
const enough = (groups) => groups.some((g) => g.made === "live" && g.methods[0].n >= 100) || !groups.some((g) => g.made === "replayed" && g.methods[0].n > 0);

function newest(live, list, recent) {
  const hit = list.filter(inside).length;
  const low = Math.min(...list.map((f) => Math.min(f.wait_seconds, f.forecast_seconds.p10 ?? 0)));
  const top = Math.max(1800, ...list.map((f) => Math.max(f.wait_seconds, f.forecast_seconds.p90 ?? 0)));
  const text = (f) => `waited ${duration(f.wait_seconds)}; forecast ${duration(f.forecast_seconds.p50)}, from ${duration(f.forecast_seconds.p10)} to ${duration(f.forecast_seconds.p90)}`;
  live.chart.show({
    label: `${hit} of the ${list.length} newest waits lie in the band of 8 of 10 cases of their forecasts. The same figures are in the table below.`,
    data: [list.map((_, i) => i), list.map((f) => waitScale(f.wait_seconds))],
    rest: `${hit} of ${list.length} jobs waited as long as was forecast for 8 of 10 cases; jobs that still wait are counted below`,
    readout: (i) => `${list[i].queue}, ${list[i].size_class} processors, started ${instant(list[i].start, recent.as_of)}: ${text(list[i])}`,
    options: (width) => ({
      scales: { x: { time: false, range: () => [-0.8, list.length - 0.2] }, y: { range: () => [waitScale(low < 300 ? 0 : low) - 0.12, waitScale(top) + 0.12] } },
      series: [{}, { stroke: "transparent", width: 0, points: { show: false } }],
      axes: [axis({ splits: () => spaced(list.length, width), values: (_u, v) => v.map((i) => instant(list[i].start, recent.as_of)).map((text, i, all) => (text === all[i - 1] ? "" : text)), grid: { show: false } }), waitAxis(240, 26, { size: 54 })],
      hooks: { draw: [paint(list)] }, cursor: { points: { show: false } },
    }),
  });
  const rows = [...list].reverse().map((f) => [instant(f.start, recent.as_of), f.queue, f.size_class, { text: duration(f.wait_seconds), value: f.wait_seconds },
    ...["p10", "p50", "p90"].map((k) => ({ text: duration(f.forecast_seconds[k]), value: f.forecast_seconds[k] })), inside(f) ? "yes" : "no"]);
  return h("section", { class: "card" }, live.chart.element,
    legend(["outer", "8 of 10 cases"], ["inner", "half the cases"], ["line", "median"], ["dot", "fact"], ["diamond", "fact outside the band"]),
    details("The newest starts as a table", table("The newest starts", ["Start", "queue", { name: "size", num: true }, ...["waited", "p10", "p50", "p90"].map((name) => ({ name, num: true })), "within"], rows, { caption: false })));
}

function spaced(n, width) {
  const every = Math.max(1, Math.ceil(n / Math.max(2, Math.floor(width / 130))));
  return Array.from({ length: Math.ceil(n / every) }, (_, i) => i * every).filter((i) => i < n);
}

// calibration shows for each level the share of waits below the quantile and up to it: the level of a perfect forecast lies between the two.
function calibration(group, accuracy) {
  const m = group.methods[0];
  const rows = Object.entries(m.coverage).map(([level, [below, upTo]]) => {
    const p = Number(level) * 100, a = below * 100, b = upTo * 100;
    const bar = s("svg", { class: "cover", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect", { x: 0, y: 5.5, width: 100, height: 1, class: "rail" }), s("rect", { x: Math.min(a, 99), y: 2, width: Math.max(1, b - a), height: 8, class: "inner" }), s("rect", { x: Math.min(99, p), y: 0, width: 1, height: 12, class: "middle" }));
    return [percent(Number(level)), { text: a === b ? percent(below) : `${percent(below)} to ${percent(upTo)}`, value: `${below} ${upTo}`, name: "coverage/" + level }, bar];
  });
  return h("section", { class: "card" },
    h("h2", {}, "Does it keep what it says?"),
    h("p", { class: "muted" }, `A bound of 90 % should hold for 90 of 100 jobs. The bars show for how many each bound held, of jobs submitted since ${instant(accuracy.since, "1970-01-01")} and forecast ${group.made === "live" ? "as it happened" : "after the fact, from what could have been known"}, whether they have started or not. `,
      `A bar is as wide as the share of waits that are exactly the bound, often 0; the mark of a good forecast lies within. For jobs cancelled before their bound the others stand in. ${percent(m.within_factor_2)} of the ${count(m.n)} medians whose jobs started are within a factor 2 of the wait.`),
    group.waiting ? h("p", { class: "muted" }, h("span", { data: { name: "past", value: group.waiting_past["0.95"] } }, `${count(group.waiting_past["0.95"])} of the waiting jobs (${count(group.waiting)} in all) already waited longer than their bound of 95 %`), "; such jobs count as missed.") : null,
    table("Share of waits up to each quantile", ["Bound", { name: "held for", num: true }, { name: "", class: "bar" }], rows, { caption: false, class: "coverage" }), outcomes(group));
}

// outcomes has the numbers of submissions behind the shares.
function outcomes(group) {
  const m = group.methods[0], num = (name) => ({ name, num: true });
  const rows = Object.entries(m.outcomes).map(([level, o]) => {
    const figure = (key, value = o[key]) => ({ text: count(value), value, name: `${key}/${level}` });
    return [percent(Number(level)), figure("decided"), figure("up_to"), figure("missed"), figure("waiting_past", group.waiting_past[level]), figure("left_undecided"), figure("undecided"),
      m.coverage_unweighted[level] ? m.coverage_unweighted[level].map(percent).join(" to ") : "–"];
  });
  return details("The submissions behind these shares", h("p", { class: "muted" }, "Decided: the quantile has passed. They started by it, missed it (some still wait), or were cancelled before it. The last column leaves those out."),
    table("The submissions behind these shares", ["Level", num("decided"), num("started by it"), num("missed it"), num("of these waiting"), num("cancelled before"), num("undecided, waiting"), num("cancelled left out")], rows, { caption: false }));
}

function methods(group) {
  const own = (m) => m.waitcast_log_pinball ?? m.log_pinball;
  const rows = group.methods.map((m) => [m.method.replaceAll("_", " "), { text: count(m.n), value: m.n, name: m.method + "/n" },
    ...["0.5", "0.95"].flatMap((l) => [{ text: m.log_pinball[l]?.toFixed(3), value: m.log_pinball[l], name: `${m.method}/${l}` }, m.method === "waitcast" ? "" : own(m)[l]?.toFixed(3)]),
    { text: percent(m.within_factor_2), value: m.within_factor_2, name: m.method + "/factor" }]);
  const num = (name) => ({ name, num: true });
  return details("Beside other methods", h("p", { class: "muted" }, "Mean pinball loss of ln(wait + 60 s), the lower the better; “waitcast” beside it is what waitcast lost on the same jobs."),
    table("Beside other methods", ["Method", num("jobs"), num("loss at 50 %"), num("waitcast"), num("loss at 95 %"), num("waitcast"), num("within factor 2")], rows, { caption: false }));
}

function classes(accuracy, made) {
  const rows = accuracy.groups.filter((g) => g.made === made && g.size_class).map((g) => {
    const m = g.methods[0];
    return [`${g.queue}, ${g.size_class}`, count(m.n), ...["0.5", "0.9"].map((l) => (m.coverage[l] ? m.coverage[l].map(percent).join(" to ") : "–")), percent(m.within_factor_2), count(g.left)];
  });
  const num = (name) => ({ name, num: true });
  return rows.length ? details("By queue and size", table("By queue and size", ["Queue, processors", num("jobs"), num("up to p50"), num("up to p90"), num("within factor 2"), num("left without a start")], rows, { caption: false }),
    ...(accuracy.next_offset === null ? [] : [h("p", { class: "muted" }, `${accuracy.groups.length} of ${accuracy.total} groups are shown. Choose a queue to see its own.`)])) : null;
}
