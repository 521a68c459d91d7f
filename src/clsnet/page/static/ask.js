// The view in which photos are asked about, and the live answer of the webcam.

import { answerElement, listenForKeys } from "./answer.js";
import { predict } from "./api.js";
import { askAbout, asked, whenAsked } from "./asked.js";
import { bars, title, why } from "./bars.js";
import { closeCamera, openCamera, takePicture } from "./camera.js";
import { $, announce, parts, tell } from "./dom.js";
import { chosen, takeDrops } from "./gather.js";
import { labels, watch } from "./store.js";
import { isOpen } from "./views.js";

const MOST_SHOWN = 40;
const BETWEEN = 2000; // milliseconds from one live answer that is read out to the next
const page = parts($("#ask"));
let live = 0;

export async function ask(files) {
  if (!(await askAbout(files, page))) return;
  announce(`${title(asked[0].answer)}. ${why(asked[0].answer)}`);
  $(".answer", page.answers).focus();
}

function showAnswers() {
  const old = new Map([...page.answers.children].map((element) => [element.one, element]));
  const focused = document.activeElement?.closest?.("#answers .answer")?.one;
  const elements = asked.slice(0, MOST_SHOWN).map((one) => {
    const kept = old.get(one);
    const state = [one.settled, ...labels()].join("\0");
    return kept?.state === state ? kept : Object.assign(answerElement(one), { state });
  });
  page.answers.replaceChildren(...elements);
  if (focused) elements.find((element) => element.one === focused)?.focus();
}

/** Answers from the webcam, one request after another. */
export async function goLive() {
  const mine = (live += 1);
  tell(page.bad);
  page.panel.hidden = false;
  page.start.textContent = "Stop the webcam";
  try {
    await openCamera(page.video, () => {
      live += 1;
      page.panel.hidden = true;
      page.start.textContent = "Live from the webcam";
    });
  } catch (error) {
    tell(page.bad, error.message);
    return;
  }
  let pace = 0;
  let said = { name: "", at: -Infinity };
  for (let before = performance.now(); live === mine;) {
    const picture = document.hidden ? null : await takePicture(page.video);
    if (!picture) {
      await pause(50);
      continue;
    }
    try {
      const {
        answers: [answer],
      } = await predict([picture]);
      if (live !== mine) return;
      tell(page.trouble);
      page.name.textContent = title(answer);
      page.name.classList.toggle("none", answer.label === null);
      page.bars.replaceChildren(...bars(answer));
      page.why.textContent = why(answer);
      const now = performance.now();
      if (title(answer) !== said.name && now - said.at > BETWEEN) {
        said = { name: title(answer), at: now };
        announce(said.name);
      }
      pace = pace ? 0.9 * pace + 0.1 * (now - before) : now - before;
      before = now;
      page.pace.textContent = `${Math.round(1000 / pace)} answers a second`;
    } catch (error) {
      tell(page.trouble, error.message);
      await pause(1000);
    }
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export function startAsk() {
  page.choose.addEventListener("change", () => ask(chosen(page.choose).map((one) => one.file)));
  page.start.addEventListener("click", () => (page.panel.hidden ? goLive() : closeCamera()));
  page.keep.addEventListener("click", async () => {
    const picture = await takePicture(page.video);
    if (picture) ask([picture]);
  });
  takeDrops($("#ask"), (found) => ask(found.map((one) => one.file)));
  document.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files];
    if (isOpen("ask") && files.length) ask(files);
  });
  listenForKeys(page.answers, () => isOpen("ask"));
  whenAsked(showAnswers);
  watch((info) => {
    tell(page.empty, info.classes.length ? "" : "It knows no class yet. Teach it some first.");
    showAnswers();
  });
}
