// Drawings in SVG: the map of classes, and accuracy as it grew.

import { el, svg } from "./dom.js";
import { classes, percent, photos, short } from "./words.js";

const MANY = 30; // classes, from which on circles are small and names are near or nowhere

/** Classes as circles; the nearer two are, the more alike their photos look. */
export function drawMap(points, width) {
  const [height, edge] = [Math.max(0.62 * width, 220), 34];
  const most = Math.max(...points.map((one) => one.photos), 1);
  const crowded = points.length > MANY;
  const scale = crowded ? Math.sqrt(MANY / points.length) : 1;
  const circles = points.map((one) => ({
    x: edge + ((one.x + 1) / 2) * (width - 2 * edge),
    y: edge + ((1 - one.y) / 2) * (height - 2 * edge),
    r: scale * (5 + 9 * Math.sqrt(one.photos / most)),
  }));
  const taken = circles.map(({ x, y, r }) => ({
    left: x - r,
    right: x + r,
    top: y - r,
    bottom: y + r,
  }));
  const drawn = points.map((one, i) => {
    const name = short(one.label, width < 400 ? 14 : 22);
    const place = freePlace(circles[i], 8.2 * name.length, [width, height], taken, crowded ? [0] : [0, 18, 36]);
    if (place) taken.push(place);
    const { x, y, r } = circles[i];
    const circle = svg("circle", { cx: x, cy: y, r });
    circle.style.setProperty("--hue", Math.round(i * 137.5) % 360);
    const text =
      place &&
      svg(
        "text",
        { x: place.at, y: place.bottom - 5, "text-anchor": place.anchor },
        name,
      );
    return svg(
      "g",
      {},
      circle,
      text,
      svg("title", {}, `${short(one.label)}: ${photos(one.photos)}`),
    );
  });
  const alike = closest(points);
  const said = `Map of ${classes(points.length)}. ${alike}`;
  return el(
    "div",
    {},
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", class: "map", "aria-label": said },
      ...drawn,
    ),
    el("p", {}, alike),
  );
}

/** Where a name beside a circle covers nothing: right, left, below or above; nowhere if all is full. */
function freePlace({ x, y, r }, wide, [width, height], taken, distances) {
  const box = (left, top, anchor = "middle", at = left + wide / 2) => ({
    ...{ left, right: left + wide, top, bottom: top + 18 },
    ...{ anchor, at },
  });
  const middle = Math.max(2, Math.min(x - wide / 2, width - wide - 2));
  const beside = [
    box(x + r + 4, y - 9, "start", x + r + 4),
    box(x - r - 4 - wide, y - 9, "end", x - r - 4),
  ];
  const places = distances.reduce(
    (all, far) => [...all, box(middle, y + r + 1 + far), box(middle, y - r - 19 - far)],
    beside,
  );
  const hits = (one) =>
    taken.some(
      (other) =>
        one.left < other.right &&
        other.left < one.right &&
        one.top < other.bottom &&
        other.top < one.bottom,
    );
  const inside = ({ left, right, top, bottom }) =>
    left > 0 && right < width && top > 0 && bottom < height;
  return places.find((one) => inside(one) && !hits(one));
}

function closest(points) {
  let best = { far: Infinity };
  points.forEach((a, i) =>
    points.slice(i + 1).forEach((b) => {
      const far = Math.hypot(a.x - b.x, a.y - b.y);
      if (far < best.far) best = { far, a, b };
    }),
  );
  if (!best.a) return "";
  return `Most alike: ${short(best.a.label, 40)} and ${short(best.b.label, 40)}.`;
}

/** Expected accuracy by the number of photos learned. */
export function drawGrowth(known, width) {
  const [height, left, right, top, bottom] = [Math.max(0.5 * width, 220), 52, 16, 16, 40];
  const most = Math.max(...known.map((one) => one.photos), 1);
  const x = (n) => left + (n / most) * (width - left - right);
  const y = (share) => top + (1 - share) * (height - top - bottom);
  const lines = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    svg(
      "g",
      { class: "grid" },
      svg("line", { x1: left, x2: width - right, y1: y(share), y2: y(share) }),
      svg("text", { x: left - 10, y: y(share) + 5, "text-anchor": "end" }, `${100 * share}%`),
    ),
  );
  const dots = known.map((one) =>
    svg(
      "circle",
      { cx: x(one.photos), cy: y(one.accuracy), r: 5 },
      svg("title", {}, `${photos(one.photos)}, ${classes(one.classes)}: ${percent(one.accuracy)}`),
    ),
  );
  const path = known
    .map((one, i) => `${i ? "L" : "M"}${x(one.photos)} ${y(one.accuracy)}`)
    .join("");
  const last = known.at(-1);
  const said = `Expected accuracy: ${known.map((one) => `${percent(one.accuracy)} after ${photos(one.photos)}`).join(", ")}.`;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said, class: "growth" },
    ...lines,
    svg("path", { d: path }),
    ...dots,
    svg("text", { x: left, y: height - 12 }, "0 photos"),
    svg("text", { x: width - right, y: height - 12, "text-anchor": "end" }, photos(last.photos)),
  );
}
