// Questions, single photos, and short messages at the edge of the page.

import { forgetPhoto } from "./api.js";
import { $, announce, el, parts, tell } from "./dom.js";
import { giveName, nameOfKey, offerNames, offered } from "./names.js";
import { changed, write } from "./store.js";
import { dropThumbnail, keepThumbnails } from "./teaching.js";
import { short } from "./words.js";

let vanish = 0;

/** Say something for a while; it is read out, too. */
export function notice(text, isTrouble = false) {
  clearTimeout(vanish);
  announce(text);
  const box = $("#notice");
  box.classList.toggle("bad", isTrouble);
  $("p", box).textContent = text;
  box.hidden = false;
  if (!isTrouble) vanish = setTimeout(() => (box.hidden = true), 8000);
}

$("#notice button").addEventListener("click", () => ($("#notice").hidden = true));

/** Ask before something is done; true if it shall be. */
export function confirm(question, explanation, yes) {
  const dialog = $("#confirm");
  const { title, text, go } = parts(dialog);
  title.textContent = question;
  text.textContent = explanation;
  go.textContent = yes;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** Show a photo that was taught, to give it another name or to forget it. */
export function showPhoto(one, label) {
  const dialog = $("#photo");
  const { picture, title, names, trouble, forget } = parts(dialog);
  picture.src = one.url;
  title.textContent = `Learned as ${short(label)}`;
  tell(trouble);
  const card = document.activeElement.closest(".card");
  const offers = offered([]).filter((name) => name !== label);

  async function run(work) {
    tell(trouble);
    dialog.ariaBusy = "true";
    try {
      notice(await work());
      dropThumbnail(label, one);
      changed();
      dialog.close();
      $("[data-part=choose]", card)?.focus(); // the thumbnail that had the focus is gone
    } catch (error) {
      tell(trouble, error.message);
    }
    dialog.ariaBusy = "false";
  }

  const choose = (name) =>
    run(async () => {
      const said = await giveName(one.file, name);
      await keepThumbnails(name, [one.file]);
      return said;
    });
  offerNames(names, offers, null, choose);
  forget.onclick = () =>
    run(async () => {
      await write(() => forgetPhoto(one.file));
      return `Forgot one photo of ${short(label)}.`;
    });
  dialog.onkeydown = (event) => {
    const name = nameOfKey(event, offers);
    if (name) choose(name);
  };
  dialog.showModal();
}

/** The button of a thumbnail. */
export function thumbnailButton(one, label) {
  const name = `Photo of ${short(label)}: another name, or forget it`;
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: "thumb", "aria-label": name, onclick: () => showPhoto(one, label) },
      el("img", { src: one.url, alt: "" }),
    ),
  );
}
