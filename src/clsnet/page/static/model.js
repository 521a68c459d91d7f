// The view of the file: what it is, what it could tell, and what can be done with it.

import { download, merge } from "./api.js";
import { $, el, parts, tell } from "./dom.js";
import { chosen, takeDrops } from "./gather.js";
import { store, watch, write } from "./store.js";
import { bytes, classes, date, percent, photos } from "./words.js";

const page = parts($("#model"));

/** Do something long, and say what came of it. */
async function run(doing, work) {
  tell(page.bad);
  tell(page.good, doing);
  try {
    tell(page.good, await work());
  } catch (error) {
    tell(page.good);
    tell(page.bad, error.message);
  }
}

page.download.addEventListener("click", () =>
  run("Fetching the model …", async () => {
    await download("model", store.info.model);
    return "The model is in your downloads.";
  }),
);
page.export.addEventListener("click", () =>
  run("Writing the ONNX file …", async () => {
    await download("export", `${store.info.model.replace(/\.clsnet$/, "")}.onnx`);
    return "The ONNX file is in your downloads.";
  }),
);

function mergeFile([first]) {
  if (!first) return;
  run(`Merging ${first.file.name} …`, async () => {
    const before = store.info.photos;
    const { shared, warnings, info } = await write(() => merge(first.file));
    const both = shared ? `${photos(shared)} that both had learned count once.` : "";
    return [
      `Merged ${first.file.name}: ${photos(Math.max(info.photos - before, 0))} more.`,
      both,
      ...warnings,
    ]
      .filter(Boolean)
      .join(" ");
  });
}
page.other.addEventListener("change", () => mergeFile(chosen(page.other)));
takeDrops(page.merging, mergeFile);

watch((info) => {
  const facts = [
    ["File", info.model],
    ["Knows", `${classes(info.classes.length)}, ${photos(info.photos)}`],
    [
      "Expected accuracy",
      info.accuracy
        ? `${percent(info.accuracy.expected)}, probably between ${percent(info.accuracy.low)} and ${percent(info.accuracy.high)}`
        : "Not known yet",
    ],
    ["Network", info.network || "Chosen with the first photo"],
    ["Size", info.exists ? bytes(info.size) : "Not written yet"],
  ];
  page.facts.replaceChildren(
    ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
  page.inferable.replaceChildren(...(info.inferable ?? []).map((line) => el("li", {}, line)));
  page.kept.replaceChildren(
    ...Object.entries(info.kept ?? {}).flatMap(([kind, size]) => [
      el("dt", {}, kind),
      el("dd", {}, bytes(size)),
    ]),
  );
  page.history.replaceChildren(
    ...(info.history ?? [])
      .toReversed()
      .map((one) =>
        el("li", {}, el("time", { datetime: one.date }, date(one.date)), el("span", {}, one.text)),
      ),
  );
  page.past.hidden = !info.history?.length;
  page.tells.hidden = !info.inferable?.length;
  for (const button of [page.download, page.export])
    button.disabled = !info.exists || !info.classes.length;
});
