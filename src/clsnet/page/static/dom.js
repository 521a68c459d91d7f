// Finding, making and stamping elements.

export const $ = (selector, root = document) => root.querySelector(selector);

/** Make an element; attributes named on… are listeners, true and false set and leave out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null && child !== ""));
  return element;
}

/** Copy a <template>; returns its element and its parts by the names in data-part. */
export function stamp(id) {
  const root = document.getElementById(id).content.firstElementChild.cloneNode(true);
  return { root, ...parts(root) };
}

/** The elements below another one by the names in data-part. */
export function parts(root) {
  return Object.fromEntries(
    [...root.querySelectorAll("[data-part]")].map((e) => [e.dataset.part, e]),
  );
}

/** Write a message, or hide the element where there is none. */
export function tell(element, text = "") {
  element.textContent = text;
  element.hidden = !text;
}

/** Let screen readers say something that is seen elsewhere. */
export function announce(text) {
  $("#said").textContent = text;
}
