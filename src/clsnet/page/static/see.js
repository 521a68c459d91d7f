// The view that shows the classes as a map, their confusions, and how accuracy grew.

import { getConfusions, getMap } from "./api.js";
import { $, el, parts, tell } from "./dom.js";
import { drawGrowth, drawMap } from "./drawings.js";
import { store, watch } from "./store.js";
import { isOpen, whenOpened } from "./views.js";
import { percent, short } from "./words.js";

const page = parts($("#see"));
let points = [];

function draw() {
  if (!isOpen("see") || !store.info) return;
  const growth = (store.info.growth ?? []).filter((one) => one.accuracy !== null);
  fill(
    page.growth,
    growth.length > 1
      ? drawGrowth(growth, width(page.growth))
      : "Teach it twice, and you see here how it grows.",
  );
  fill(page.map, points.length > 1 ? drawMap(points, width(page.map)) : "Two classes make a map.");
}

async function look() {
  if (!isOpen("see")) return;
  try {
    const [map, { labels, rows }] = await Promise.all([getMap(), getConfusions()]);
    tell(page.bad);
    points = map.points;
    fill(
      page.confusions,
      labels.length > 1 ? table(labels, rows) : "Two classes with a few photos each make a table.",
    );
  } catch (error) {
    tell(page.bad, error.message);
  }
  draw();
}

const width = (element) => Math.min(Math.max(element.clientWidth, 260), 720);

const fill = (element, content) =>
  element.replaceChildren(
    typeof content === "string" ? el("p", { class: "empty" }, content) : content,
  );

/** Rows are what photos show, columns what they are taken for. */
function table(labels, rows) {
  const head = labels.map((label) =>
    el("th", { scope: "col", title: label }, el("span", {}, short(label, 18))),
  );
  const body = rows.map((row, i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", title: labels[i] }, short(labels[i], 24)),
      ...row.map((share, j) => {
        const cell = el(
          "td",
          { class: i === j ? "right" : "wrong" },
          share < 0.005 ? "" : percent(share),
        );
        cell.style.setProperty("--share", share < 0.005 ? 0 : share);
        return cell;
      }),
    ),
  );
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of confusions" },
    el(
      "table",
      { "aria-labelledby": "confusions-title" },
      el("thead", {}, el("tr", {}, el("td", {}), ...head)),
      el("tbody", {}, ...body),
    ),
  );
}

watch(look);
whenOpened("see", look);
window.addEventListener("resize", draw);
