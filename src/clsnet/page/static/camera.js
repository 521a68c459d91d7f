// The webcam: one at a time, pictures as JPEG, a button that is held.

import { Trouble } from "./api.js";

const SHORT_SIDE = 320;
const REASONS = {
  NotAllowedError:
    "The browser may not use the webcam. Allow it in the address bar above, then try again.",
  NotFoundError: "There is no webcam. Connect one, or use photos.",
  NotReadableError: "The webcam is used by another program. Close that one, then try again.",
};
let current = null;

/** Show the webcam in a <video>; whoever showed it before is told to close. */
export async function openCamera(video, closed) {
  closeCamera();
  const mine = { video, closed, stream: null };
  current = mine;
  try {
    if (!navigator.mediaDevices) throw new DOMException("", "NotFoundError");
    const wanted = { width: { ideal: 640 }, height: { ideal: 480 } };
    mine.stream = await navigator.mediaDevices.getUserMedia({ video: wanted });
    if (current !== mine) return stop(mine);
    video.srcObject = mine.stream;
    await video.play();
  } catch (error) {
    if (current === mine) closeCamera();
    if (error.name === "AbortError") return;
    throw new Trouble(
      "webcam",
      REASONS[error.name] ?? `The webcam cannot be used: ${error.message}`,
    );
  }
}

export function closeCamera() {
  const last = current;
  current = null;
  if (!last) return;
  stop(last);
  last.closed();
}

function stop({ video, stream }) {
  stream?.getTracks().forEach((track) => track.stop());
  video.srcObject = null;
}

let taken = 0;

/** The picture that a <video> shows now, null while it shows none. */
export async function takePicture(video) {
  if (!video.videoWidth) return null;
  const scale = Math.min(1, SHORT_SIDE / Math.min(video.videoWidth, video.videoHeight));
  const canvas = new OffscreenCanvas(
    Math.round(video.videoWidth * scale),
    Math.round(video.videoHeight * scale),
  );
  canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
  const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 });
  taken += 1;
  return new File([blob], `webcam-${taken}.jpg`, { type: "image/jpeg" });
}

/** Take pictures while a button is held, by pointer, Space or Enter; a plain click takes one. */
export function whileHeld(button, video, { counted, done, every = 200, most = 60 }) {
  let pictures = null;
  let ended = -Infinity;

  async function start(event) {
    if (pictures || event.button > 0) return;
    event.preventDefault();
    button.focus();
    if (event.pointerId) button.setPointerCapture(event.pointerId);
    const mine = (pictures = []);
    button.classList.add("held");
    while (pictures === mine && mine.length < most) {
      const picture = await takePicture(video);
      if (picture) counted(mine.push(picture));
      await new Promise((resolve) => setTimeout(resolve, every));
    }
    if (pictures === mine) end();
    if (mine.length) done(mine);
  }

  function end() {
    if (pictures) ended = performance.now();
    pictures = null;
    button.classList.remove("held");
  }

  button.addEventListener("pointerdown", start);
  for (const kind of ["pointerup", "pointercancel", "blur"]) button.addEventListener(kind, end);
  button.addEventListener("keydown", (event) => {
    if (![" ", "Enter"].includes(event.key)) return;
    event.preventDefault();
    start(event);
  });
  button.addEventListener("keyup", (event) => {
    if (event.key === " ") event.preventDefault();
    end();
  });
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  button.addEventListener("click", (event) => {
    if (pictures || performance.now() - ended < 500) return; // the end of a hold is a click, too
    start(event);
    end();
  });
}
