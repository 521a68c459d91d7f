// One view at a time, by the address after #. Those that few people open are loaded when opened.

import { connection } from "./api.js";
import { closeCamera } from "./camera.js";
import { $ } from "./dom.js";

const VIEWS = ["teach", "ask", "review", "see", "model"];
const LATE = ["see", "model"];
const opened = new Map();
let current = "";

/** Call a function whenever a view is opened. */
export function whenOpened(view, run) {
  opened.set(view, run);
}

export const isOpen = (view) => current === view;

export function go(view) {
  if (view === current) return;
  current = view;
  closeCamera();
  for (const name of VIEWS) {
    $(`#${name}`).hidden = name !== view;
    const link = $(`nav a[href="#${name}"]`);
    if (name === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  window.scrollTo(0, 0);
  if (LATE.includes(view)) load(view);
  opened.get(view)?.();
}

async function load(view) {
  const section = $(`#${view}`);
  section.inert = true;
  try {
    await import(`./${view}.js`);
    section.inert = false;
  } catch {
    connection.dispatchEvent(new Event("lost"));
  }
}

export function startViews() {
  const follow = () => {
    const view = location.hash.slice(1);
    if (VIEWS.includes(view)) go(view);
    else if (!current) go(VIEWS[0]);
  };
  window.addEventListener("hashchange", follow);
  follow();
}
