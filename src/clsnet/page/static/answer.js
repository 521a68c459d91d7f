// One answer: the photo, names with bars, why, and the choice of the right name.

import { leave, settle } from "./asked.js";
import { bars, title, why } from "./bars.js";
import { stamp, tell } from "./dom.js";
import { nameOfKey, offerNames, offered } from "./names.js";
import { short } from "./words.js";

/** Make the element of an answer; while it has the focus, keys 1 to 9 choose a name, and Enter says yes. */
export function answerElement(one, large = false) {
  const {
    root,
    photo,
    name,
    file,
    bars: list,
    why: reason,
    choice,
    names,
    settled,
    bad,
    skip,
  } = stamp("answer");
  const { answer } = one;
  root.one = one;
  root.classList.toggle("large", large);
  if (one.url) photo.src = one.url;
  else
    photo.replaceWith(
      Object.assign(document.createElement("p"), {
        className: "no-picture",
        textContent: "This browser cannot show the photo, but clsnet can read it.",
      }),
    );
  photo.alt = short(one.file.name);
  name.textContent = title(answer);
  name.classList.toggle("none", answer.label === null);
  file.textContent = short(one.file.name);
  list.replaceChildren(...bars(answer));
  reason.textContent = why(answer);
  tell(settled, one.settled);
  choice.hidden = Boolean(one.settled);
  skip.hidden = !large;

  async function choose(label) {
    if (root.ariaBusy === "true") return;
    tell(bad);
    root.ariaBusy = "true";
    try {
      await settle(one, label);
    } catch (error) {
      root.ariaBusy = "false";
      tell(bad, error.message);
    }
  }

  const offers = offered(answer.top);
  offerNames(names, offers, answer.label, choose);
  skip.addEventListener("click", () => leave(one));
  root.chooseByKey = (event) => {
    if (one.settled) return false;
    const yes = event.key === "Enter" && event.target === root;
    const label = yes ? answer.label : nameOfKey(event, offers);
    if (label) choose(label);
    return Boolean(label);
  };
  return root;
}

/** Let keys 1 to 9 and Enter work in the answer with the focus, or in the first that waits. */
export function listenForKeys(list, isOpen) {
  document.addEventListener("keydown", (event) => {
    if (!isOpen() || document.querySelector("dialog[open]")) return;
    const focused = event.target.closest?.(".answer");
    const first = () => [...list.children].find((element) => !element.one.settled);
    const target = focused ?? (event.target === document.body ? first() : null);
    if (target?.chooseByKey(event)) event.preventDefault();
  });
}
