// What the page knows of the model; one write after another; other tabs hear of it.

import { getInfo } from "./api.js";

const events = new EventTarget();
const tabs = new BroadcastChannel("clsnet");
let writes = Promise.resolve();

export const store = { info: null };

/** Call a function now if there is something to show, and whenever it changes. */
export function watch(show) {
  events.addEventListener("info", () => show(store.info));
  if (store.info) show(store.info);
}

/** Show everything anew. */
export const changed = () => events.dispatchEvent(new Event("info"));

function hold(info) {
  store.info = info;
  changed();
}

export async function refresh() {
  hold(await getInfo());
}

/** Run a request that changes the model after those before it; returns its answer. */
export function write(request) {
  const done = writes.then(request).then((answer) => {
    hold(answer.info);
    tabs.postMessage("changed");
    return answer;
  });
  writes = done.catch(() => {});
  return done;
}

export const labels = () => store.info?.classes.map((one) => one.label) ?? [];

/** Look again when another tab wrote, and when this one comes to the front. */
export function stayFresh(failed) {
  const look = () => refresh().catch(failed);
  tabs.addEventListener("message", look);
  window.addEventListener("focus", look);
  document.addEventListener("visibilitychange", () => document.hidden || look());
}
