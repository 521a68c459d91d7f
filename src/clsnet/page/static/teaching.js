// Teach photos of one class, batch by batch, and say what came of it.

import { learn } from "./api.js";
import { batches, LARGEST, thumbnail } from "./gather.js";
import { write } from "./store.js";
import { photos, sentence } from "./words.js";

const MOST_THUMBNAILS = 12;
const NONE = [];
const shown = new Map();

/** Small pictures of a class, newest first; they live in this window only. */
export const thumbnailsOf = (label) => shown.get(label) ?? NONE;

export function dropThumbnail(label, one) {
  shown.set(
    label,
    thumbnailsOf(label).filter((other) => other !== one),
  );
  URL.revokeObjectURL(one.url);
}

export function dropThumbnails(label) {
  for (const one of thumbnailsOf(label)) dropThumbnail(label, one);
}

const identity = ({ name, size, lastModified }) => `${lastModified} ${size} ${name}`;

export async function keepThumbnails(label, files) {
  const there = new Set(thumbnailsOf(label).map((one) => identity(one.file)));
  const further = files.filter((file) => !there.has(identity(file)));
  const few = further.slice(-MOST_THUMBNAILS).reverse();
  const made = await Promise.all(
    few.map(async (file) => ({ file, url: await thumbnail(file, 96) })),
  );
  const all = [...made.filter((one) => one.url), ...thumbnailsOf(label)];
  all.slice(MOST_THUMBNAILS).forEach((one) => URL.revokeObjectURL(one.url));
  shown.set(label, all.slice(0, MOST_THUMBNAILS));
}

/**
 * Teach files; returns what happened in words.
 * `progress(done, total, waiting)` is told before and after every batch; once `stopped()` is true no further one is sent.
 */
export async function teach(label, files, progress = () => {}, stopped = () => false) {
  const small = files.filter((file) => file.size <= LARGEST);
  const sum = { learned: 0, already: 0, unreadable: [], warnings: [], trouble: "" };
  for (const file of files) {
    if (file.size > LARGEST)
      sum.unreadable.push({ name: file.name, error: `${file.name} has more than 60 MB` });
  }
  let done = 0;
  progress(0, small.length, true);
  for (const batch of batches(small)) {
    if (stopped()) break;
    try {
      const answer = await write(async () => {
        progress(done, small.length, false);
        const found = await learn(batch, label);
        const bad = new Set(found.unreadable.map((one) => one.name));
        const good = batch.filter((file) => !bad.has(file.name));
        await keepThumbnails(label, good);
        return found;
      });
      sum.learned += answer.learned;
      sum.already += answer.already;
      sum.unreadable.push(...answer.unreadable);
      sum.warnings = answer.warnings;
    } catch (error) {
      sum.trouble = error.message;
      break;
    }
    progress((done += batch.length), small.length, true);
  }
  return inWords(sum, small.length - done);
}

function inWords({ learned, already, unreadable, warnings, trouble }, left) {
  const good = [];
  if (learned) good.push(`Learned ${photos(learned)}.`);
  if (already) good.push(`${photos(already)} ${already === 1 ? "was" : "were"} known already.`);
  const bad = trouble ? [trouble] : [];
  if (left && !trouble) good.push(`Stopped: ${photos(left)} not learned.`);
  if (left && trouble && learned) bad.push(`${photos(left)} not learned.`);
  if (unreadable.length) bad.push(`${photos(unreadable.length)} could not be read.`);
  bad.push(...unreadable.slice(0, 3).map(({ error }) => sentence(error)));
  return { good: good.join(" "), bad: bad.join("\n"), advice: warnings };
}
