// Photos that were asked about in this window, and what became of them.

import { predict } from "./api.js";
import { announce, tell } from "./dom.js";
import { batches, LARGEST, NO_PHOTO, thumbnail } from "./gather.js";
import { giveName } from "./names.js";
import { photos, sentence } from "./words.js";

const AT_ONCE = 8;
const events = new EventTarget();

/** Newest first: { file, url, answer, settled }, settled being what happened in words. */
export const asked = [];

export const whenAsked = (run) => events.addEventListener("asked", run);
const changed = () => events.dispatchEvent(new Event("asked"));

/** Ask about files and tell in a view how far it is and what could not be read; true if any could. */
export async function askAbout(files, { working, bad }) {
  const before = asked.length;
  tell(bad, files.length ? "" : NO_PHOTO);
  if (!files.length) return false;
  try {
    const unreadable = await askInBatches(files, (done, total) =>
      tell(working, `Looking at ${photos(total)}${done ? `: ${done} done` : ""} …`),
    );
    tell(bad, unreadable.slice(0, 5).join("\n"));
  } catch (error) {
    tell(bad, error.message);
  }
  tell(working);
  return asked.length > before;
}

async function askInBatches(files, progress) {
  const unreadable = files
    .filter((file) => file.size > LARGEST)
    .map((file) => `${file.name} has more than 60 MB.`);
  const small = files.filter((file) => file.size <= LARGEST);
  let done = 0;
  for (const batch of batches(small, AT_ONCE)) {
    progress(done, small.length);
    const { answers } = await predict(batch);
    const urls = await Promise.all(batch.map((file) => thumbnail(file)));
    answers.forEach((answer, i) => {
      if (answer.error) unreadable.push(sentence(answer.error));
      else asked.unshift({ file: batch[i], url: urls[i], answer, settled: "" });
    });
    done += batch.length;
    changed();
  }
  return unreadable;
}

export async function settle(one, name) {
  one.settled = await giveName(one.file, name);
  announce(one.settled);
  changed();
}

export function leave(one) {
  one.settled = "Skipped.";
  changed();
}

/** How sure an answer is: the lead of the first class over the second; least if it is none. */
const sureness = ({ answer: { label, top } }) =>
  label === null ? -1 : top[0].probability - (top[1]?.probability ?? 0);

/** What waits for a name, least sure first. */
export const waiting = () =>
  asked.filter((one) => !one.settled).sort((a, b) => sureness(a) - sureness(b));
