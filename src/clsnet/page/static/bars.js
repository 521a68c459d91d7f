// An answer as names with bars, and why.

import { el } from "./dom.js";
import { list, percent, short } from "./words.js";

const MOST_BARS = 3;

/** Names with bars; the bar of the answer itself is filled with the accent. */
export function bars(answer) {
  return answer.top.slice(0, MOST_BARS).map(({ label, probability }) => {
    const bar = el("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", probability);
    const kind = label === answer.label ? "best" : "";
    return el(
      "li",
      { class: kind },
      el("span", { class: "of", dir: "auto", title: label }, short(label)),
      bar,
      el("span", { class: "share" }, percent(probability)),
    );
  });
}

export const title = (answer) => answer.label ?? "None of these";

/** Why: the classes that the photo is nearest to. */
export function why(answer) {
  const near = (answer.nearest ?? answer.top).slice(0, 3).map((one) => short(one.label, 40));
  if (!near.length) return "";
  if (answer.label === null)
    return "It looks unlike the photos of any class. The nearest ones are:";
  const [first, ...rest] = near;
  return `It looks most like ${first}${rest.length ? `, then ${list(rest)}` : ""}.`;
}
