// The view that shows the classes as a map, their confusions, and how accuracy grew.

import { getConfusions, getMap } from "./api.js";
import { $, el, parts, tell } from "./dom.js";
import { drawGrowth, drawMap } from "./drawings.js";
import { store, watch } from "./store.js";
import { isOpen, whenOpened } from "./views.js";
import { percent, short } from "./words.js";

const MOST_ROWS = 30;
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
      labels.length > 1
        ? table(labels, rows, mostConfused(rows))
        : "Two classes with a few photos each make a table.",
    );
    tell(
      page.part,
      labels.length > MOST_ROWS
        ? `These are the ${MOST_ROWS} classes of ${labels.length} that are confused most.`
        : "",
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

/** The numbers of the classes that most is taken for, or that are taken for others most. */
function mostConfused(rows) {
  const wrong = rows.map(() => 0);
  rows.forEach((row, i) =>
    row.forEach((share, j) => {
      if (i !== j) for (const one of [i, j]) wrong[one] += share;
    }),
  );
  const worst = [...rows.keys()].sort((a, b) => wrong[b] - wrong[a]).slice(0, MOST_ROWS);
  return worst.sort((a, b) => a - b);
}

/** Rows are what photos show, columns what they are taken for. */
function table(labels, rows, shown) {
  const head = shown.map((i) =>
    el("th", { scope: "col", title: labels[i] }, el("span", {}, short(labels[i], 18))),
  );
  const body = shown.map((i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", title: labels[i] }, short(labels[i], 24)),
      ...shown.map((j) => {
        const share = rows[i][j];
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
