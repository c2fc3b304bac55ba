// Charts: uPlot with the page's colors, sizes, axes, readout and keys.
import { h, put } from "./dom.js";
import { hourMinute, mark, timeTicks, waitOf, waitTicks } from "./format.js";

const uPlot = globalThis.uPlot;

// color returns a custom property of the theme.
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

const all = new Set();

// redraw draws all charts anew, in the colors of another theme.
export function redraw() { for (const c of all) c.draw(); }

// Chart is a figure with a plot, and a line that tells the values at the cursor. What it shows comes with show().
export class Chart {
  constructor(title, options = {}) {
    this.height = options.height ?? 220;
    this.plot = h("div", { class: "plot", "aria-hidden": "true" });
    this.readout = h("p", { class: "readout", "aria-live": "polite" });
    this.caption = h("figcaption", {}, title);
    this.element = h("figure", { class: "chart", tabindex: "0", "aria-label": title, onkeydown: (e) => this.key(e), data: { key: title } }, this.caption, this.plot, this.readout);
    this.watcher = new ResizeObserver(() => this.fit());
  }

  // show takes {label, data, options(width, colors), readout(i)}: label says in words what is to be seen, data are uPlot's.
  show(spec) {
    this.spec = spec;
    this.element.setAttribute("aria-label", `${this.caption.textContent}. ${spec.label}`);
    if (this.element.isConnected) this.draw();
  }

  // attach is to be called when the element is in the page.
  attach() {
    all.add(this);
    this.watcher.observe(this.plot);
    this.draw();
  }

  detach() {
    all.delete(this);
    this.watcher.disconnect();
    this.u?.destroy();
    this.u = null;
  }

  fit() {
    const width = Math.floor(this.plot.clientWidth);
    if (this.u && width > 0 && width !== this.u.width) this.draw();
  }

  draw() {
    const width = Math.floor(this.plot.clientWidth);
    if (!this.spec || width <= 0) return;
    const at = this.u?.cursor.idx;
    this.u?.destroy();
    const o = this.spec.options(width);
    this.u = new uPlot({
      width, height: this.height, padding: [10, 20, 0, 0], legend: { show: false }, pxAlign: 0,
      ...o,
      cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { size: 7 }, ...o.cursor },
      hooks: { ...o.hooks, setCursor: [(u) => this.tell(u.cursor.idx)] },
    }, this.spec.data, this.plot);
    if (at !== null && at !== undefined) this.move(at);
    else this.tell(null);
  }

  tell(i) {
    const text = i === null || i === undefined ? (this.spec.rest ?? "") : this.spec.readout(i);
    if (this.readout.textContent !== text) put(this.readout, text);
  }

  move(i) {
    const x = this.u.data[0], to = Math.min(Math.max(i, 0), x.length - 1);
    this.u.setCursor({ left: this.u.valToPos(x[to], "x"), top: 0 });
    this.u.cursor.idx = to;
    this.tell(to);
  }

  key(e) {
    if (!this.u || e.altKey || e.ctrlKey || e.metaKey) return;
    const n = this.u.data[0].length, step = Math.max(1, Math.round(n / 40)), now = this.u.cursor.idx ?? -step;
    const to = { ArrowLeft: now - step, ArrowRight: now + step, Home: 0, End: n - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    this.move(to);
  }
}

// axis returns what axes have in common.
export function axis(more = {}) {
  const line = { stroke: color("line"), width: 1 };
  return { stroke: color("muted"), font: "12px system-ui, sans-serif", grid: line, ticks: { ...line, size: 4 }, size: 28, gap: 3, ...more };
}

// waitAxis has marks of waits on their scale; pixels is how far apart two are at least.
export function waitAxis(length, pixels, more = {}) {
  return axis({
    splits: (_u, _i, min, max) => waitTicks(min, max, ((max - min) * pixels) / length).map((x) => Math.log(x + 60)),
    values: (_u, splits) => splits.map((x) => mark(Math.round(waitOf(x)))),
    ...more,
  });
}

// lifeAxis has marks of times on a logarithmic scale: 10 s, 1 min, 1 h, 1 d.
export function lifeAxis(length, pixels, more = {}) {
  return axis({
    splits: (_u, _i, min, max) => timeTicks(min, max, ((max - min) * pixels) / length).map(Math.log),
    values: (_u, splits) => splits.map((x) => mark(Math.round(Math.exp(x)))),
    ...more,
  });
}

// shareAxis goes from 0 % to 100 %.
export const shareAxis = (more = {}) => axis({
  splits: () => [0, 0.25, 0.5, 0.75, 1], values: (_u, splits) => splits.map((x) => `${x * 100} %`), size: 48, ...more,
});

// dayAxis has the hours of a day, in the reader's zone.
export function dayAxis(width) {
  const hours = width < 600 ? 6 : 3;
  return axis({
    splits: (_u, _i, min, max) => {
      const out = [], at = new Date(min * 1000);
      at.setMinutes(0, 0, 0);
      for (; at / 1000 <= max; at.setHours(at.getHours() + 1)) if (at.getHours() % hours === 0 && at / 1000 >= min) out.push(at / 1000);
      return out;
    },
    values: (_u, splits) => splits.map((x) => hourMinute(x * 1000)),
  });
}

// fan returns the series and bands of quantiles over x, in the order of fanOrder: what is drawn last lies on top.
export const fanOrder = ["p05", "p95", "p25", "p75", "p50"];

export function fan() {
  const edge = { width: 0, stroke: "transparent", points: { show: false } };
  return {
    series: [{}, edge, edge, edge, edge, { stroke: color("median"), width: 2, points: { show: true, size: 5, fill: color("median"), stroke: color("median") } }],
    bands: [{ series: [2, 1], fill: color("band-outer") }, { series: [4, 3], fill: color("band-inner") }],
  };
}

// legend explains colors in words: [class of the key, text].
export const legend = (...entries) => h("ul", { class: "legend" }, entries.map(([name, text]) => h("li", {}, h("span", { class: "key " + name, "aria-hidden": "true" }), text)));
