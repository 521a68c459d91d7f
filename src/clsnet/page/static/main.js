// The page: start every view, keep the head of the page true, and notice when clsnet is gone.

import { connection, undo } from "./api.js";
import { startAsk } from "./ask.js";
import { notice } from "./dialogs.js";
import { $, el, tell } from "./dom.js";
import { startReview } from "./review.js";
import { refresh, stayFresh, store, watch, write } from "./store.js";
import { startTeach } from "./teach.js";
import { startViews } from "./views.js";
import { classes, photos } from "./words.js";

const AGAIN = 2000;
let wasThere = false;

function showHead(info) {
  $("#counts").textContent = info.classes.length
    ? `${classes(info.classes.length)}, ${photos(info.photos)}`
    : "new";
  const button = $("#undo");
  button.hidden = !info.can_undo;
  button.title = info.undoes ? `Undo: ${info.undoes}` : "Undo the last change";
  $("#known-names").replaceChildren(
    ...info.classes.map(({ label }) => el("option", { value: label })),
  );
  const lost = wasThere && !info.exists;
  wasThere = info.exists;
  if (lost)
    notice(
      `${info.model} is no longer in its folder. Put it back to go on with it; teaching now starts a new one.`,
      true,
    );
  document.body.classList.toggle("readonly", Boolean(info.readonly));
}

/** Say that the server is gone, and look for it until it is back. */
function watchConnection() {
  let looking = 0;
  connection.addEventListener("lost", () => {
    tell(
      $("#gone"),
      `clsnet does not answer. Start it again with “clsnet page ${$("#model-name").textContent}”; nothing that was learned is lost.`,
    );
    clearTimeout(looking);
    looking = setTimeout(look, AGAIN);
  });
  connection.addEventListener("reached", ({ detail: status }) => {
    clearTimeout(looking);
    tell(
      $("#gone"),
      status === 401
        ? "This page belongs to an earlier start of clsnet. Open the address that it printed when it started."
        : "",
    );
  });
}

const look = () =>
  refresh().catch(
    (error) => error.code === "gone" || error.code === "no-token" || notice(error.message, true),
  );

async function undoLast() {
  try {
    const { undone } = await write(undo);
    notice(undone);
  } catch (error) {
    notice(error.message, true);
  }
}

watchConnection();
watch(showHead);
$("#undo").addEventListener("click", undoLast);
for (const kind of ["dragover", "drop"])
  window.addEventListener(kind, (event) => event.preventDefault());
startTeach();
startAsk();
startReview();
startViews();
stayFresh(look);
await look();
if (store.info && !store.info.classes.length && !store.info.readonly) {
  (await import("./first.js")).startFirst();
}
document.body.classList.add("ready");
