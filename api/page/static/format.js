// How figures are written, and the scale of waits.

// tiers are the two units that a duration shows, from the larger one on; the same as those of the command.
const tiers = [[86400, 3600, "d", "h"], [3600, 60, "h", "min"], [60, 1, "min", "s"]];

// duration writes seconds with their two largest units: "45 s", "3 min 20 s", "2 h 05 min", "1 d 03 h". null is never.
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  if (seconds < 0) return "-" + duration(-seconds);
  for (const [large, small, largeName, smallName] of tiers) {
    const r = Math.round(seconds / small) * small;
    if (r < large) continue;
    const a = Math.floor(r / large), b = Math.round((r % large) / small);
    return b === 0 ? `${a} ${largeName}` : `${a} ${largeName} ${String(b).padStart(2, "0")} ${smallName}`;
  }
  return `${Math.round(seconds)} s`;
}

// about writes seconds as people say them: "55 min", "2½ h", "3 days"; exact figures are written by duration.
export function about(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  if (seconds < 1) return "no time";
  if (seconds < 45) return "less than a minute";
  const minutes = seconds / 60;
  if (minutes < 10) return `${Math.max(1, Math.round(minutes))} min`;
  if (minutes >= 57.5 && minutes < 62.5) return "1 h";
  if (minutes < 82.5) return `${Math.round(minutes / 5) * 5} min`;
  const hours = Math.round(minutes / 30) / 2;
  if (hours < 10) return `${Number.isInteger(hours) ? hours : Math.floor(hours) + "½"} h`;
  if (hours < 47.5) return `${Math.round(minutes / 60)} h`;
  return `${Math.round(hours / 24)} days`;
}

// roughly is about in a sentence: "about 55 min", "less than a minute".
export const roughly = (seconds) => (seconds === null || seconds === undefined || seconds < 45 ? about(seconds) : `about ${about(seconds)}`);

// brief writes seconds for a small cell: one unit.
export function brief(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  if (seconds < 60) return seconds < 1 ? "0" : "<1m";
  if (seconds < 5970) return `${Math.round(seconds / 60)}m`;
  const hours = seconds / 3600;
  if (hours < 9.95) return `${(Math.round(hours * 10) / 10)}h`;
  if (hours < 99.5) return `${Math.round(hours)}h`;
  return `${Math.round(hours / 24)}d`;
}

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (x) => (Math.abs(x) >= 100 || Number.isInteger(x) ? whole.format(x) : number.format(x));
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;
export const digits = (x, n = 3) => (x === null || x === undefined ? "–" : Number(x).toPrecision(n).replace(/\.?0+$/, (m) => (m.includes(".") ? "" : m)));

// percent never rounds what is not certain to 0 % or 100 %.
export function percent(p) {
  if (p === null || p === undefined) return "–";
  const r = p * 100;
  if (r > 0 && r < 1) return "< 1 %";
  if (r > 99 && r < 100) return "> 99 %";
  return `${Math.round(r)} %`;
}

// likely writes a probability in words.
export function likely(p) {
  const words = [[0.95, "almost certain"], [0.8, "very likely"], [0.6, "likely"], [0.4, "as likely as not"], [0.2, "unlikely"], [0.05, "very unlikely"]];
  return words.find(([least]) => p >= least)?.[1] ?? "almost out of the question";
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

export const hourMinute = (t) => clock.format(new Date(t));

// instant writes a point in time as short as it is clear, in the reader's zone: near one of reference only by weekday.
export function instant(t, reference) {
  if (!t) return "never";
  const at = new Date(t), from = reference ? new Date(reference) : new Date();
  const far = Math.abs(at - from) > 6 * 86400e3;
  if (at.toDateString() === from.toDateString()) return clock.format(at);
  return (far ? date : day).format(at).replace(",", "");
}

// Waits are drawn on the scale on which the forecasts are scored: ln(wait + 60 s). It has a place for no wait at all.
export const waitScale = (seconds) => Math.log(seconds + 60);
export const waitOf = (u) => Math.max(0, Math.exp(u) - 60);

const waitMarks = [0, 60, 300, 600, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400, 30 * 86400, 90 * 86400, 365 * 86400];
const timeMarks = [1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400];
const fineMarks = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400, 30 * 86400];

// mark writes a round time of an axis: "0", "10 min", "4 h", "1 d".
export function mark(seconds) {
  if (seconds === 0) return "0";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${seconds / 60} min`;
  if (seconds < 86400) return `${seconds / 3600} h`;
  return `${seconds / 86400} d`;
}

// spread picks those of the marks within a range that are at least apart from each other, on a scale.
function spread(marks, scale, min, max, apart) {
  const out = [];
  for (const m of marks) {
    const at = scale(m);
    if (at < min - 1e-9 || at > max + 1e-9) continue;
    if (out.length === 0 || at - scale(out[out.length - 1]) >= apart) out.push(m);
  }
  return out;
}

export const waitTicks = (min, max, apart) => spread(waitMarks, waitScale, min, max, apart);
export function timeTicks(min, max, apart) {
  const round = spread(timeMarks, Math.log, min, max, apart);
  return round.length > 3 ? round : spread(fineMarks, Math.log, min, max, apart);
}
