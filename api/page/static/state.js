// What is shown, as the address of the page says it.

export const views = [
  ["wait", "Wait"], ["sizes", "Size × limit"], ["ahead", "Next 24 h"], ["accuracy", "Accuracy"], ["lifetimes", "Lifetimes"], ["jobs", "Waiting jobs"],
];

// mine is the view of whoever has given a token: without one nobody knows whose jobs to show.
export const mine = ["mine", "My jobs"];

const names = ["cluster", "view", "queue", "procs", "time_limit", "by", "offset", "level", "class", "made"];

// read returns the parameters of the address that are known.
export function read() {
  const given = new URLSearchParams(location.search);
  const out = {};
  for (const name of names) if (given.get(name)) out[name] = given.get(name);
  if (![...views, mine].some(([v]) => v === out.view)) out.view = "wait";
  return out;
}

// of returns the address of a state.
export function address(state) {
  const query = new URLSearchParams();
  for (const name of names) if (state[name]) query.set(name, state[name]);
  return "/?" + query;
}

// write makes a state the page's; a new entry in the history only where it is another view or queue.
export function write(state, replace) {
  const to = address(state);
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
}
