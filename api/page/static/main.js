// The page: reads its state from the address, asks the daemon, and shows the view.
import { get, Problem, token, watch } from "./api.js";
import { redraw } from "./charts.js";
import { h, keepOpen, put } from "./dom.js";
import { about, count, duration, hourMinute, instant } from "./format.js";
import { makeContext } from "./controls.js";
import { address, mine, read, views, write } from "./state.js";
import * as wait from "./views/wait.js";
import * as sizes from "./views/sizes.js";
import { limits } from "./views/sizes.js";
import * as ahead from "./views/ahead.js";
import * as accuracy from "./views/accuracy.js";
import * as lifetimes from "./views/lifetimes.js";
import * as jobs from "./views/jobs.js";
import * as own from "./views/mine.js";
import { setUpDialog, setUpTheme } from "./tools.js";

const modules = { wait, sizes, ahead, accuracy, lifetimes, jobs, mine: own };
const spacing = 3e3; // between two refreshes that the daemon's news cause
const rarely = 60e3; // and without news: ages go on

const page = { state: read(), health: null, queues: null, live: null, shown: "", under: "", asking: null, last: 0, again: null, missed: false, text: "" };
const $ = (id) => document.getElementById(id);
const ctx = makeContext(page, (change, replace) => go({ ...page.state, ...change }, replace));

// go shows another state and makes it the address.
function go(state, replace) {
  page.state = state;
  write(state, replace);
  show();
}

function navigation() {
  const { cluster, queue, procs, time_limit } = page.state;
  const shown = token.get() || page.state.view === mine[0] ? [...views, mine] : views;
  put($("views"), shown.map(([view, name]) => h("li", {}, h("a", {
    href: address({ cluster, view, queue, procs, time_limit }), "aria-current": view === page.state.view ? "page" : null, data: { key: "view-" + view, nav: "", view },
  }, name))));
}

// show builds the view of the state, and asks for its figures.
async function show() {
  navigation();
  const view = modules[page.state.view];
  document.title = `${view.name} · waitcast`;
  await refresh(true);
}

// settle fills in what the address does not say.
function settle() {
  const before = address(page.state), clusters = [...new Set(page.queues.queues.map((q) => q.cluster))];
  const s = page.state;
  s.cluster ??= clusters[0];
  const mine = page.queues.queues.filter((q) => q.cluster === s.cluster);
  if (modules[s.view].needsQueue && !s.queue && mine.length) s.queue = mine.reduce((a, b) => (b.queued_jobs + b.running_jobs > a.queued_jobs + a.running_jobs ? b : a)).name;
  if (s.view === "wait") {
    const typical = !s.procs && !s.time_limit ? ctx.typical(s) : null;
    if (typical?.time_limit_seconds) s.time_limit = written(typical.time_limit_seconds);
    s.procs ??= String(typical?.procs ?? Math.max(1, Math.min(16, 2 ** Math.floor(Math.log2(Math.max(1, (ctx.capacity(s) || 8) / 8))))));
  }
  if (address(s) !== before) write(s, true);
  const key = [s.view, s.cluster, mine.map((q) => q.name).join()].join("|");
  ctx.clusterSelect($("cluster"), clusters);
  if (key !== page.under) {
    page.under = key;
    put($("controls"), h("form", { class: "controls", "aria-label": "What is asked", onsubmit: (e) => { e.preventDefault(); ctx.flush(); refresh(true); } }, view().controls(s, ctx), view().typed ? h("button", { type: "submit", class: "quiet" }, "Ask") : null));
  }
  ctx.sync();
  navigation();
}

// written writes a time limit as people type it.
const written = (seconds) => limits.find(([, , x]) => x === seconds)?.[0] ?? (seconds % 3600 === 0 ? `${seconds / 3600}h` : seconds % 60 === 0 ? `${seconds / 60}m` : String(seconds));

const view = () => modules[page.state.view];

// refresh asks anew. What is under way is given up only where another question is asked.
async function refresh(other) {
  if (page.asking && !other) return;
  page.asking?.abort();
  clearTimeout(page.again);
  page.again = null;
  const asking = (page.asking = new AbortController());
  $("view").setAttribute("aria-busy", "true");
  try {
    [page.health, page.queues] = await Promise.all([get("/v1/health", {}, asking.signal), get("/v1/queues", {}, asking.signal)]);
    if (!page.queues.queues.length) nothing();
    else {
      settle();
      if (page.state.view === "wait" && !page.state.time_limit) {
        page.state.time_limit = await wait.firstLimit(page.state, asking.signal);
        settle();
      }
      const state = { ...page.state };
      const data = await view().load(state, ctx, asking.signal);
      if (page.asking === asking) draw(state, data, other);
    }
  } catch (err) {
    if (err.name !== "AbortError" && page.asking === asking) failed(err);
  } finally {
    if (page.asking === asking) {
      page.asking = null;
      page.last = performance.now();
      $("view").setAttribute("aria-busy", "false");
      if (page.missed) { page.missed = false; news(); }
    }
  }
}

function draw(state, data, other) {
  const kind = state.view, text = JSON.stringify({ ...data, as_of: null, age_seconds: null });
  if (!other && page.shown === kind && page.text === text) return status(data); // a selection in the page stays
  page.text = text;
  if (page.shown !== kind) {
    clear();
    page.live = view().start();
    page.shown = kind;
  }
  const known = new Set(page.live.attached ?? []), el = page.live.element;
  const made = h("div", { class: "view " + kind }, h("h1", { tabindex: "-1", id: "title" }, view().name), view().render(page.live, data, state));
  keepOpen($("view"), made);
  put($("view"), el.className ? h("div", { class: el.className }, made) : made);
  for (const c of page.live.charts) if (!known.has(c) && c.element.isConnected) c.attach();
  page.live.attached = page.live.charts.filter((c) => known.has(c) || c.element.isConnected);
  status(data);
}

function clear() {
  for (const c of page.live?.charts ?? []) c.detach();
  page.live = null;
  page.shown = "";
}

const unread = (t) => !t || t.startsWith("0001-");

// status tells how new the figures are.
function status(data) {
  const age = duration(data.age_seconds);
  const text = unread(data.as_of) ? "nothing read yet" : `as of ${instant(data.as_of)}, ${data.age_seconds < 1 ? "now" : about(data.age_seconds) + " ago"}`;
  const simulated = page.health.simulated_speed;
  const wrong = page.health.conditions.map((c) => c.text);
  const dot = ["dot", data.stale ? "old" : "", wrong.length ? "degraded" : ""].filter(Boolean).join(" ");
  put($("status"), h("span", { class: dot, title: wrong.join("\n") || null, "aria-hidden": "true" }),
    h("span", { data: { name: "as-of", value: data.as_of } }, wrong.length ? `${text}, ${page.health.status}` : text),
    simulated ? h("span", { class: "simulated", title: `The clock is that of a simulated cluster: ages and times are by it.` }, `simulated clock, ${count(simulated)} times as fast`) : null);
  put($("refreshed"), `Asked at ${hourMinute(Date.now())}.`);
  const why = page.health.stale.find((s) => s.cluster === page.state.cluster)?.reason ?? `the newest record is ${age} old`;
  if (!data.stale) banner(wrong.length ? "degraded" : null, wrong.join(" · "));
  else if (unread(data.as_of)) banner("stale", "Nothing has been read yet: no record of the cluster, so nothing is known.");
  else banner("stale", `Stale: ${why}. The figures are those of ${instant(data.as_of, new Date(0))}.`);
}

// banner says what is wrong. Those who hear the page are told once, not whenever an age in the text is another one.
function banner(kind, text) {
  const el = $("banner");
  if (el.textContent !== (kind ? text : "")) put(el, kind ? h("p", { class: "banner " + kind }, text) : null);
  if ((el.dataset.kind ?? "") === (kind ?? "")) return;
  el.dataset.kind = kind ?? "";
  $("announce").textContent = kind ? text : "";
}

function message(title, ...body) {
  clear();
  put($("view"), h("div", { class: "view" }, h("h1", { tabindex: "-1", id: "title" }, view().name), h("div", { class: "notice" }, h("h2", {}, title), body)));
}

function nothing() {
  const { status, conditions } = page.health;
  put($("controls"));
  page.under = "";
  banner(null);
  message("No queue is known yet", h("p", {}, "Queues appear with the first record of a log."), 
    h("p", { class: "muted", data: { name: "ready" } }, [status, ...conditions.map((c) => c.text)].join("\n")));
}

// failed shows what the daemon says, or that it says nothing; then what was shown before stays.
function failed(err) {
  if (!(err instanceof Problem)) {
    console.error(err);
    banner("error", `The page has a fault: ${err.message}`);
    return;
  }
  if (err.status === 0) {
    banner("offline", page.shown ? `The daemon does not answer. What is shown is what it said last.` : "The daemon does not answer.");
    $("status").replaceChildren(h("span", { class: "dot gone", "aria-hidden": "true" }), "not connected");
    page.again = setTimeout(() => refresh(false), spacing);
    return;
  }
  banner(null);
  if (err.status === 401 || err.status === 403) {
    message(err.status === 401 ? "This needs a token" : "This token is not enough",
      h("p", {}, err.message), err.hint ? h("p", { class: "muted" }, err.hint) : null, h("p", {}, h("button", { type: "button", onclick: () => $("token").click() }, "Enter a token")));
    return;
  }
  message(err.status === 503 ? "Not yet" : "No answer", h("p", { data: { name: "problem", value: err.status } }, err.message),
    err.fields.map((f) => h("p", {}, f)), err.hint ? h("p", { class: "muted" }, err.hint) : null);
}

// news refreshes soon, but not more often than people read.
function news() {
  if (page.asking) page.missed = true;
  if (page.again || page.asking || document.hidden) return;
  page.again = setTimeout(() => refresh(false), Math.max(0, spacing - (performance.now() - page.last)));
}

// travel goes to an address of the page, and the focus to its heading.
async function travel(to) {
  history.pushState(null, "", to);
  page.state = read();
  await show();
  $("title")?.focus({ preventScroll: true });
}

document.addEventListener("click", (e) => {
  const link = e.target.closest("a[data-nav]");
  if (!link || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey) return;
  e.preventDefault();
  travel(link.getAttribute("href"));
});
window.addEventListener("popstate", () => { page.state = read(); show(); });
setUpTheme($("theme"), redraw);
setUpDialog($("token"), $("token-dialog"), () => refresh(true));
setInterval(() => { if (!document.hidden) refresh(false); }, rarely);
show().then(() => watch(news));
