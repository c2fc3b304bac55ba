// Small helpers to make elements. Text is always set as text, never as HTML.

// h makes an element: h("p", {class: "x", onclick: f, data: {value: 1}}, "text", child, ...).
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// s makes an SVG element.
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(el, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else if (key === "data") for (const [k, v] of Object.entries(value)) el.dataset[k] = v === null ? "null" : v;
    else el.setAttribute(key, value === true ? "" : value);
  }
  el.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

// put replaces what is in an element. What had the focus gets it back, found by its data-key.
export function put(el, ...children) {
  const key = el.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  el.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  if (key) el.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

// table makes a table. Columns are names, or {name, num, key}; a row is a list of cells: texts, elements, or {text, value, ...}; its first cell is its heading.
export function table(caption, columns, rows, options = {}) {
  const heads = columns.map((c) => (typeof c === "string" ? { name: c } : c));
  const cell = (c, i) => {
    const given = c !== null && typeof c === "object" && !(c instanceof Node) ? c : { text: c };
    const data = { ...(given.value === undefined ? {} : { value: given.value }), ...(given.name ? { name: given.name } : {}), head: heads[i].name };
    const content = given.text instanceof Node ? given.text : String(given.text ?? "–");
    return h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: heads[i].num ? "num" : heads[i].class, data }, content);
  };
  return h("table", { class: options.class },
    h("caption", { class: options.caption === false ? "hidden" : null }, caption),
    h("thead", {}, h("tr", {}, heads.map((c) => h("th", { scope: "col", class: c.num ? "num" : c.class }, c.name)))),
    h("tbody", {}, rows.map((r) => h("tr", {}, r.map(cell)))));
}

// details hides the figures of a chart until they are wanted.
export function details(summary, ...children) {
  return h("details", {}, h("summary", { data: { key: summary } }, summary), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": summary }, ...children));
}

// startRules lists the sentences about the rules by which a queue's jobs start.
export function startRules(queue, words) {
  if (!words.length) return null;
  return h("section", { class: "card" }, h("h2", {}, `How jobs of queue ${queue} start`), h("ul", { class: "plain" }, words.map((w, i) => h("li", { data: { name: `rule/${i}`, value: w } }, w))));
}

// keepOpen takes over which details are open from what is replaced.
export function keepOpen(from, to) {
  const open = new Set([...from.querySelectorAll("details[open] > summary")].map((x) => x.textContent));
  for (const d of to.querySelectorAll("details")) if (open.has(d.firstElementChild.textContent)) d.open = true;
}
