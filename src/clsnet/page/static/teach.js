// The view in which classes are taught.

import { Card } from "./card.js";
import { $, announce, tell } from "./dom.js";
import { chosen, NO_PHOTO, takeDrops } from "./gather.js";
import { watch } from "./store.js";
import { short } from "./words.js";

const cards = new Map();

export function startTeach() {
  const form = $("#new-class");
  const input = $("input[type=text]", form);
  const trouble = $("[role=alert]", form);
  const list = $("#cards");

  function card(label) {
    if (!cards.has(label)) {
      const made = new Card(label, (gone) => {
        const focused = gone.root.contains(document.activeElement);
        cards.delete(gone.label);
        gone.root.remove();
        if (focused) input.focus();
      });
      cards.set(label, made);
    }
    return cards.get(label);
  }

  /** A card for a new name, in front of the others. */
  function draft(name) {
    const label = name.normalize("NFC");
    const made = card(label);
    if (!made.root.isConnected) list.prepend(made.root);
    return made;
  }

  /** Photos by the name in the form, or by the names of their folders. */
  function take(found) {
    const name = input.value.trim();
    if (!found.length) return tell(trouble, NO_PHOTO);
    const groups = Map.groupBy(found, (one) => name || one.folder);
    tell(
      trouble,
      groups.has("") ? "Give these photos a name first, then drop them onto its card." : "",
    );
    groups.delete("");
    for (const [label, some] of groups) draft(label).teach(some);
    input.value = "";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = input.value.trim();
    tell(trouble, name ? "" : "Type a name first.");
    if (!name) return input.focus();
    const made = draft(name);
    input.value = "";
    made.choose.focus();
    announce(`A card for ${short(name)}: add photos to it.`);
  });
  const folder = $("input[type=file]", form);
  folder.addEventListener("change", () => take(chosen(folder)));
  takeDrops(form, take);

  watch((info) => {
    const known = new Map(info.classes.map((one) => [one.label, one]));
    for (const label of known.keys()) {
      const made = card(label);
      if (!made.root.isConnected) list.append(made.root);
    }
    for (const made of cards.values()) {
      const wasKnown = made.known;
      made.show(known.get(made.label) ?? null);
      if (wasKnown && !made.known && !made.busy) made.removed(made);
    }
    $("#promise").hidden = !known.size;
    $("#teach-head").hidden = !$("#first").hidden;
  });
}
