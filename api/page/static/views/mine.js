// My waiting jobs, and how long my jobs run beside the limits that I ask for.
import { get } from "../api.js";
import { h } from "../dom.js";
import { plural } from "../format.js";
import { most, render as renderJobs } from "./jobs.js";

export const name = "My jobs";

export const controls = () => [];

// load asks for the jobs of the one who asks: whose token it is, or who connects to the daemon's socket.
export const load = (state, _ctx, signal) => get("/v1/me", { cluster: state.cluster, limit: most, offset: state.offset }, signal);

export const start = () => ({ charts: [], element: h("div", {}) });

export function render(live, answer, state) {
  const names = answer.other_names ? h("p", { class: "muted" }, `${plural(answer.other_names, "more job name")} of yours had enough runs for a habit; "waitcast me --name NAME" shows it.`) : null;
  return [
    h("p", { class: "lead", data: { name: "user", value: answer.user } }, `${answer.user}: ${plural(answer.running_jobs, "job")} ${answer.running_jobs === 1 ? "runs" : "run"}.`),
    h("section", { class: "card" }, h("h2", {}, "Habits"),
      answer.habits.length ? h("ul", { class: "plain" }, answer.habits.map((x) => h("li", { data: { name: "habit", value: x.name } }, x.text))) : h("p", {}, "None of your jobs that wait or run has a name that is known."), names),
    ...renderJobs(live, { ...answer, rules: [] }, state),
  ];
}
