// Asks the daemon's HTTP interface.

const key = "waitcast-token";

// token is what the reader has pasted; it lives as long as the tab.
export const token = {
  get: () => { try { return sessionStorage.getItem(key) ?? ""; } catch { return ""; } },
  set: (text) => { try { if (text) sessionStorage.setItem(key, text); else sessionStorage.removeItem(key); } catch { /* no storage: no token */ } },
};

// Problem is an error as the daemon tells it (RFC 9457); status 0 where it does not answer at all.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `status ${status}`);
    this.status = status;
    this.reason = body.reason ?? "";
    this.hint = body.hint ?? "";
    this.fields = (body.errors ?? []).map((e) => `${(e.location ?? "").replace(/^(query|body|path)\./, "")}: ${e.message}`);
  }
}

async function ask(path, options, signal) {
  const headers = { Accept: "application/json", ...options.headers };
  if (token.get()) headers.Authorization = "Bearer " + token.get();
  let response;
  try {
    response = await fetch(path, { ...options, headers, signal, cache: "no-store", credentials: "same-origin" });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Problem(0, { title: "The daemon does not answer." });
  }
  const text = await response.text();
  let body;
  try { body = JSON.parse(text); } catch { body = { title: text.slice(0, 200) }; }
  if (!response.ok) throw new Problem(response.status, body);
  return body;
}

// query writes parameters, leaving out those that are empty.
function query(parameters) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(parameters)) if (v !== "" && v !== undefined && v !== null) q.set(k, v);
  return q.size ? "?" + q : "";
}

export const get = (path, parameters, signal) => ask(path + query(parameters ?? {}), {}, signal);
export const post = (path, body, signal) => ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }, signal);

// watch calls changed whenever the daemon says that there is something new, and every so often where it cannot say so. It returns what ends that.
const poll = 15e3;

export function watch(changed) {
  let source = null, timer = null;
  const stop = () => { source?.close(); source = null; clearInterval(timer); timer = null; };
  const polling = () => { timer ??= setInterval(changed, poll); };
  const start = () => {
    stop();
    if (document.hidden) return; // a connection is worth something: browsers have six to a host
    source = new EventSource("/v1/changes");
    source.addEventListener("change", () => { clearInterval(timer); timer = null; changed(); });
    source.onerror = polling; // until it is back
  };
  const visible = () => { start(); if (!document.hidden) changed(); };
  document.addEventListener("visibilitychange", visible);
  start();
  return () => { document.removeEventListener("visibilitychange", visible); stop(); };
}
