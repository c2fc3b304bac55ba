// A distribution of a wait on one line: the band from p10 to p90, that from p25 to p75, and the median.
import { s } from "./dom.js";
import { waitScale } from "./format.js";

export function strip(q, most, waited) {
  const from = waitScale(0), to = waitScale(most);
  const x = (seconds) => (seconds === null ? 100 : Math.min(100, (100 * (waitScale(seconds) - from)) / (to - from)));
  const bar = (a, b, name, height) => s("rect", { x: x(a), width: Math.max(0.6, x(b) - x(a)), y: (16 - height) / 2, height, class: name });
  return s("svg", { class: "strip", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
    s("rect", { x: 0, width: 100, y: 7.5, height: 1, class: "rail" }),
    bar(q.p10, q.p90, "outer", 8), bar(q.p25, q.p75, "inner", 8),
    s("rect", { x: Math.min(99, x(q.p50)), width: 1, y: 1, height: 14, class: "middle" }),
    waited === undefined ? null : s("rect", { x: Math.min(99, x(waited)), width: 1, y: 0, height: 16, class: "fact" }));
}
