// The first minute: three colours of paper.

import { ask, goLive } from "./ask.js";
import { closeCamera, openCamera, whileHeld } from "./camera.js";
import { $, announce, el, parts, tell } from "./dom.js";
import { drawPaper } from "./paper.js";
import { watch } from "./store.js";
import { teach } from "./teaching.js";
import { go } from "./views.js";
import { photos } from "./words.js";

const COLOURS = [
  ["red paper", 0],
  ["green paper", 130],
  ["blue paper", 215],
];
const DRAWN = 8;

export function startFirst() {
  const root = $("#first");
  const {
    steps,
    what,
    camera,
    video,
    hold,
    taken,
    webcam,
    draw,
    closing,
    done,
    bad,
    working,
    lesson,
    end,
  } = parts(root);
  let step = 0;
  let drawing = false;
  let running = false;
  let closed = false;

  function show() {
    steps.replaceChildren(
      ...COLOURS.map(([name], i) => {
        const state = i < step ? "done" : i === step ? "now" : "";
        return el(
          "li",
          {
            class: `sheet ${name.split(" ")[0]} ${state}`,
            "aria-current": i === step ? "step" : false,
          },
          name,
          i < step ? el("span", { class: "unseen" }, " (learned)") : null,
        );
      }),
    );
    const finished = step === COLOURS.length;
    lesson.hidden = finished;
    end.hidden = !finished;
    if (!finished) what.textContent = `${step + 1}. Show it ${COLOURS[step][0]}`;
    draw.textContent = finished ? "" : `Draw ${COLOURS[step][0]} for me`;
  }

  async function learnSheet(files) {
    if (running) return;
    running = true;
    tell(bad);
    working.hidden = false;
    const [name] = COLOURS[step];
    const told = await teach(name, files);
    running = false;
    working.hidden = true;
    taken.textContent = "";
    tell(bad, told.bad);
    if (!told.good) return;
    step += 1;
    announce(`${name}: ${told.good}`);
    if (step === COLOURS.length) closeCamera();
    show();
    if (step === COLOURS.length) done.focus();
  }

  function leave() {
    root.hidden = closed = true;
    $("#teach-head").hidden = false;
  }

  webcam.addEventListener("click", async () => {
    tell(bad);
    camera.hidden = false;
    webcam.hidden = true;
    try {
      await openCamera(video, () => {
        camera.hidden = true;
        webcam.hidden = false;
      });
      hold.focus();
    } catch (error) {
      tell(bad, error.message);
    }
  });
  whileHeld(hold, video, { counted: (n) => (taken.textContent = photos(n)), done: learnSheet });
  draw.addEventListener("click", async () => {
    drawing = true;
    const hue = COLOURS[step][1];
    learnSheet(await Promise.all(Array.from({ length: DRAWN }, () => drawPaper(hue))));
  });
  done.addEventListener("click", async () => {
    const hue = COLOURS[Math.floor(Math.random() * COLOURS.length)][1];
    leave();
    location.hash = "ask";
    go("ask");
    if (drawing) ask([await drawPaper(hue)]);
    else goLive();
  });
  closing.addEventListener("click", () => {
    closeCamera();
    leave();
    $("#new-class input").focus();
  });

  watch((info) => {
    if (step === 0 && !running) root.hidden = closed || info.classes.length > 0;
    $("#teach-head").hidden = !root.hidden;
  });
  show();
}
