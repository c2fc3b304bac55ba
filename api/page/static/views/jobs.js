// The jobs that wait, with their forecasts and why these moved.
import { get } from "../api.js";
import { legend } from "../charts.js";
import { h, startRules, table } from "../dom.js";
import { count, duration, instant, plural } from "../format.js";
import { address } from "../state.js";
import { strip } from "../strip.js";

export const name = "Waiting jobs";

export const most = 200;

export const controls = (_state, ctx) => [ctx.queueSelect(true)];

export async function load(state, ctx, signal) {
  const answer = await get("/v1/jobs", { cluster: state.cluster, queue: state.queue, limit: most, offset: state.offset }, signal);
  return { ...answer, rules: ctx.rules(state) };
}

export const start = () => ({ charts: [], element: h("div", {}) });

const without = {
  pending: "its forecast is made with the next record", unknown: "details pending: its size or queue is not told yet", afterwards: "its submission was learnt after the fact",
};

// reason says why a job waits, and why its forecast moved.
const reason = (j) => [j.held ? `held${j.held_reason ? ": " + j.held_reason : ""}` : "", j.forecast ? "" : `no forecast: ${without[j.no_forecast] ?? (j.no_forecast ?? "").replaceAll("_", " ")}`, j.moved ?? ""].filter(Boolean).join("; ");

export function render(_live, answer, state) {
  const rules = startRules(state.queue, answer.rules);
  if (!answer.jobs.length && answer.waiting) return [h("p", { class: "notice" }, "No job is so far behind any more."), pages(answer, state), rules];
  if (!answer.jobs.length) return [h("p", { class: "notice", data: { name: "empty" } }, "No job waits."), rules];
  const top = Math.max(3600, ...answer.jobs.map((j) => j.forecast?.now.p90 ?? 0));
  const rows = answer.jobs.map((j) => {
    const q = j.forecast?.now;
    return [{ text: j.id, value: j.id }, { text: j.queue || "details pending", value: j.queue }, { text: (j.procs ? count(j.procs) : "?") + (j.tasks > 1 ? ` × ${count(j.tasks)}` : ""), value: j.procs, name: "procs" },
      j.time_limit_seconds ? duration(j.time_limit_seconds) : "–", { text: duration(j.waited_seconds), value: j.waited_seconds, name: "waited" },
      { text: q ? duration(q.p50) : "–", value: q ? q.p50 : undefined, name: "p50" }, { text: q ? `${duration(q.p10)} to ${duration(q.p90)}` : "–", value: q ? `${q.p10} ${q.p90}` : undefined, name: "range" },
      q ? strip(q, top) : "", j.forecast ? instant(j.forecast.start.p50, answer.as_of) : "–", { text: count(j.ahead_jobs), value: j.ahead_jobs, name: "ahead" }, { text: reason(j), value: j.moved_by ?? "", name: "reason" }];
  });
  const num = (n) => ({ name: n, num: true });
  return [
    h("p", { class: "lead" }, answer.waiting > answer.jobs.length ? `Jobs ${count(first(state) + 1)} to ${count(first(state) + answer.jobs.length)} of ${count(answer.waiting)} that wait, in the order of their submissions.` : `${plural(answer.waiting, "job")} ${answer.waiting === 1 ? "waits" : "wait"}.`),
    legend(["outer", "8 of 10 cases"], ["inner", "half the cases"], ["line", "median"]),
    h("div", { class: "card" }, table("Waiting jobs, the first submitted first",
      ["Job", "queue", num("procs"), num("limit"), num("has waited"), num("still to wait, median"), num("8 of 10 cases"), { name: `0 to ${duration(top)}`, class: "bar" }, num("starts, median"), num("jobs ahead"), { name: "why", class: "wide" }], rows, { caption: false, class: "jobs cards" })),
    pages(answer, state), rules,
  ];
}

const first = (state) => Number(state.offset) || 0;

// pages leads to the jobs before and behind those that are shown.
function pages(answer, state) {
  const to = (offset, text, key) => h("a", { href: address({ ...state, offset: offset > 0 ? String(offset) : "" }), data: { key, nav: "" } }, text);
  const links = [first(state) > 0 ? to(Math.max(0, first(state) - most), "Earlier jobs", "page-before") : null, answer.next_offset ? to(answer.next_offset, "Later jobs", "page-next") : null].filter(Boolean);
  return links.length ? h("p", { class: "pages" }, links.flatMap((l, i) => (i ? [" · ", l] : [l]))) : null;
}
