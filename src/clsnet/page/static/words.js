// Numbers and lists in words.

export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export const photos = (n) => count(n, "photo");
export const classes = (n) => count(n, "class", "classes");

export function percent(share) {
  if (share > 0 && share < 0.01) return "<1%";
  return `${share < 1 ? Math.min(Math.round(100 * share), 99) : 100}%`;
}

export function bytes(n) {
  if (n < 1000) return count(n, "byte");
  return n < 1e6 ? `${(n / 1e3).toFixed(0)} KB` : `${(n / 1e6).toFixed(1)} MB`;
}

/** "a", "a and b", "a, b and c". */
export function list(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** A line as a sentence of its own; names at its start stay as they are. */
export function sentence(line) {
  const begun = /^(?!clsnet )[a-z]+ /.test(line) ? line[0].toUpperCase() + line.slice(1) : line;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc]/;

/** A name short enough for a sentence, whose order it leaves alone if it is read from right to left. */
export function short(name, most = 60) {
  const some = name.length > most ? `${name.slice(0, most - 1)}…` : name;
  return RIGHT_TO_LEFT.test(some) ? `\u2068${some}\u2069` : some;
}

/** A date as people write it, or the text itself if it is none. */
export function date(text) {
  const found = new Date(text);
  if (Number.isNaN(found.getTime())) return text;
  return found.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}
