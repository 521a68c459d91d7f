// The card of one class: its photos, how well they are recognised, and ways to add more.

import { forgetClass } from "./api.js";
import { closeCamera, openCamera, whileHeld } from "./camera.js";
import { confirm, notice, thumbnailButton } from "./dialogs.js";
import { el, stamp, tell } from "./dom.js";
import { chosen, NO_PHOTO, takeDrops } from "./gather.js";
import { write } from "./store.js";
import { dropThumbnails, teach, thumbnailsOf } from "./teaching.js";
import { list, percent, photos, short } from "./words.js";

let numbered = 0;

export class Card {
  /** A card for a class; `removed(card)` is called when a class without photos is given up. */
  constructor(label, removed) {
    this.label = label;
    this.removed = removed;
    this.known = false;
    this.busy = 0;
    Object.assign(this, stamp("card"));
    this.name.id = `class-${(numbered += 1)}`;
    this.name.textContent = label;
    this.root.setAttribute("aria-labelledby", this.name.id);
    this.learning.setAttribute("aria-label", `Learning ${short(label)}`);
    this.choose.addEventListener("change", () => this.teach(chosen(this.choose)));
    this.folder.addEventListener("change", () => this.teach(chosen(this.folder)));
    this.webcam.addEventListener("click", () => this.toggleCamera());
    this.forget.addEventListener("click", () => this.forgetAll());
    this.stop.addEventListener("click", () => (this.stopped = true));
    takeDrops(this.root, (found) => this.teach(found));
    this.root.addEventListener("paste", (event) => {
      const found = [...event.clipboardData.files].map((file) => ({ file }));
      if (found.length) this.teach(found);
    });
    whileHeld(this.hold, this.video, {
      counted: (n) => (this.taken.textContent = photos(n)),
      done: (pictures) => this.teach(pictures.map((file) => ({ file }))),
    });
    this.show(null);
  }

  /** Show what the model says of the class; null if it does not know it (yet). */
  show(about) {
    this.known = about !== null;
    this.count.textContent = about ? photos(about.photos) : "No photos yet";
    this.showThumbnails();
    const score = about?.recognised ?? null;
    this.quality.hidden = score === null;
    if (score !== null) {
      this.bar.style.setProperty("--share", score);
      this.score.textContent = percent(score);
      const range =
        about.low != null
          ? `, probably between ${percent(about.low)} and ${percent(about.high)}`
          : "";
      this.quality.title = `Expected for new photos: ${percent(score)}${range}`;
    }
    tell(this.confused, about ? confusions(about) : "");
    this.forget.textContent = about ? "Forget" : "Remove";
    this.root.classList.toggle("draft", !about);
  }

  showThumbnails() {
    const now = thumbnailsOf(this.label);
    if (now === this.shown) return;
    this.shown = now;
    this.thumbs.replaceChildren(...now.map((one) => thumbnailButton(one, this.label)));
  }

  async teach(found) {
    if (!found.length) return tell(this.bad, NO_PHOTO);
    this.stopped = false;
    this.busy += 1;
    this.progress.hidden = false;
    tell(this.good);
    tell(this.bad);
    this.advice.replaceChildren();
    const told = (done, total, waiting) => {
      this.learning.max = total;
      this.learning.value = done;
      this.doing.textContent = done
        ? `Learned ${done} of ${total}`
        : `${waiting ? "Waiting" : "Learning"}: ${photos(total)}`;
      this.stop.hidden = done === total || total <= 32;
    };
    const { good, bad, advice } = await teach(
      this.label,
      found.map((one) => one.file),
      told,
      () => this.stopped,
    );
    this.busy -= 1;
    this.progress.hidden = this.busy === 0;
    this.taken.textContent = "";
    tell(this.good, good);
    tell(this.bad, bad);
    this.advice.replaceChildren(
      ...advice.map((line) => el("li", {}, line.replaceAll(this.label, short(this.label, 30)))),
    );
  }

  async toggleCamera() {
    if (!this.camera.hidden) return closeCamera();
    tell(this.bad, "");
    this.camera.hidden = false;
    this.webcam.textContent = "Close the webcam";
    const closed = () => {
      this.camera.hidden = true;
      this.webcam.textContent = "Webcam";
    };
    try {
      await openCamera(this.video, closed);
      this.hold.focus();
    } catch (error) {
      tell(this.bad, error.message);
    }
  }

  async forgetAll() {
    if (!this.known) return this.removed(this);
    const name = short(this.label);
    const text =
      "Everything learned from its photos leaves the model, exactly as if it had never been taught. You can undo this.";
    if (!(await confirm(`Forget ${name}?`, text, `Forget ${name}`))) return;
    try {
      const { photos: n } = await write(async () => {
        const forgotten = await forgetClass(this.label);
        dropThumbnails(this.label);
        return forgotten;
      });
      notice(`Forgot ${name}: ${photos(n)}.`);
    } catch (error) {
      tell(this.bad, error.message);
    }
  }
}

function confusions({ confused_with: others }) {
  const worth = (others ?? []).filter((one) => one.share >= 0.01).slice(0, 3);
  const named = worth.map((one) => `${short(one.label, 40)} (${percent(one.share)})`);
  return named.length ? `Sometimes taken for ${list(named)}.` : "";
}
