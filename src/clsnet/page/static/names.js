// Choose the name of a photo: a button for each class, keys 1 to 9, or another name.

import { correct } from "./api.js";
import { el } from "./dom.js";
import { labels, write } from "./store.js";
import { photos, short } from "./words.js";

const KEYS = 9;

/** The classes to offer: all in their order if keys suffice, otherwise the likeliest first. */
export function offered(top) {
  const all = labels();
  if (all.length <= KEYS) return all;
  const likely = top.map((one) => one.label).filter((label) => all.includes(label));
  return [...new Set([...likely, ...all])].slice(0, KEYS);
}

/** Fill an element with buttons for names; `choose(name)` is called, `likely` is marked. */
export function offerNames(element, names, likely, choose) {
  const buttons = names.map((name, i) =>
    el(
      "button",
      {
        type: "button",
        class: name === likely ? "name likely" : "name",
        title: name,
        onclick: () => choose(name),
      },
      el("kbd", { "aria-hidden": "true" }, `${i + 1}`),
      el("span", {}, short(name, 40)),
    ),
  );
  const input = el("input", {
    type: "text",
    list: "known-names",
    "aria-label": "Another name",
    placeholder: "Another name",
    autocomplete: "off",
  });
  const form = el("form", { class: "another" }, input, el("button", { type: "submit" }, "Use"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) choose(input.value.trim());
    else input.focus();
  });
  element.replaceChildren(...buttons, form);
}

/** The name that a key stands for, unless somebody is typing. */
export function nameOfKey(event, names) {
  const typing = event.target.closest?.("input, textarea, select, dialog:not([open])");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key))
    return null;
  return names[Number(event.key) - 1] ?? null;
}

/** Give a photo a name; returns what happened in words. */
export async function giveName(file, name) {
  const isNew = !labels().includes(name);
  const { moved, learned } = await write(() => correct(file, name, isNew));
  const from = moved
    .filter((one) => one.photos)
    .map((one) => `Moved ${photos(one.photos)} from ${short(one.from)} to ${short(name)}.`);
  if (from.length) return from.join(" ");
  return learned ? `Learned as ${short(name)}.` : `It was known as ${short(name)} already.`;
}
