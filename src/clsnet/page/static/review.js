// The review queue: photos one by one, the least sure first.

import { answerElement, listenForKeys } from "./answer.js";
import { askAbout, waiting, whenAsked } from "./asked.js";
import { $, parts, tell } from "./dom.js";
import { chosen, takeDrops } from "./gather.js";
import { isOpen, whenOpened } from "./views.js";
import { photos } from "./words.js";

export function startReview() {
  const page = parts($("#review"));
  let shown = null;

  function show() {
    const queue = waiting();
    const badge = $("#waiting");
    badge.hidden = !queue.length;
    badge.textContent = queue.length;
    badge.setAttribute("aria-label", `${photos(queue.length)} waiting`);
    if (!isOpen("review")) return;
    tell(page.left, queue.length ? `${photos(queue.length)} waiting, the least sure first.` : "");
    page.empty.hidden = queue.length > 0;
    if (shown !== null && shown === queue[0]) return;
    const moved = page.one.contains(document.activeElement);
    shown = queue[0] ?? null;
    page.one.replaceChildren(...(shown ? [answerElement(shown, true)] : []));
    if (moved) (page.one.firstElementChild ?? $("#review-title")).focus();
  }

  async function add(found) {
    if (
      await askAbout(
        found.map((one) => one.file),
        page,
      )
    )
      page.one.firstElementChild?.focus();
  }

  page.choose.addEventListener("change", () => add(chosen(page.choose)));
  page.folder.addEventListener("change", () => add(chosen(page.folder)));
  takeDrops($("#review"), add);
  listenForKeys(page.one, () => isOpen("review"));
  whenAsked(show);
  whenOpened("review", () => {
    shown = null;
    show();
  });
}
