// A small graph of an object: what leads to it, itself, what it leads to.
import { drawn, element } from "../elements/dom.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";
import { heights, MOST, neighbours } from "./graph-layout.js";

/** @typedef {import("./graph-layout.js").Neighbour} Neighbour */

const WIDTH = 760;
const ROW = 30;
/** Room for the name above the middle. */
const LEAST = 68;
const BOX = { width: 250, height: 22 };

/**
 * @param {{ name: string, links: import("../../../index.js").ObjectLink[], backlinks: import("../../../index.js").ObjectLink[], nameOf: (id: string) => string | null, options: { [key: string]: string } }} given
 */
export function linksGraph({ name, links, backlinks, nameOf, options }) {
  const [from, to] = [neighbours(backlinks, "from"), neighbours(links, "to")];
  if (from.length + to.length === 0) {
    return element("p", { class: "faint" }, "No object refers to it, and it refers to none.");
  }
  const height = Math.max(LEAST, Math.min(MOST, Math.max(from.length, to.length)) * ROW + 8);
  const middle = { x: WIDTH / 2, y: height / 2 };
  const side = (/** @type {Neighbour[]} */ all, /** @type {"from" | "to"} */ end) => {
    const shown = all.slice(0, MOST);
    const x = end === "from" ? 0 : WIDTH - BOX.width;
    return heights(shown.length, height).map((y, at) => {
      const edge = end === "from" ? BOX.width : WIDTH - BOX.width;
      return [
        drawn("path", {
          class: "edge",
          d: `M${edge},${y} C${middle.x},${y} ${middle.x},${middle.y} ${middle.x},${middle.y}`,
        }),
        neighbourBox(shown[at], x, y, nameOf, options),
      ];
    });
  };
  const left = Math.max(0, from.length - MOST) + Math.max(0, to.length - MOST);
  return element(
    "figure",
    { class: "graph" },
    drawn(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${height}`,
        role: "group",
        "aria-label": `${from.length} objects refer to it; it refers to ${to.length}`,
      },
      ...side(from, "from").flat(),
      ...side(to, "to").flat(),
      drawn("circle", { class: "self", cx: middle.x, cy: middle.y, r: 7 }),
      drawn("text", { class: "self-name", x: middle.x, y: middle.y - 12, "text-anchor": "middle" }, oneLine(name, 34)),
    ),
    element(
      "figcaption",
      { class: "faint" },
      `Left: what refers to it. Right: what it refers to.${left > 0 ? ` ${left} more are in the list below.` : ""}`,
    ),
  );
}

/**
 * @param {Neighbour} neighbour
 * @param {number} x
 * @param {number} y
 * @param {(id: string) => string | null} nameOf
 * @param {{ [key: string]: string }} options
 */
function neighbourBox({ id, name, words, count }, x, y, nameOf, options) {
  const label = (id === null ? null : nameOf(id)) ?? name;
  const box = [
    drawn("title", {}, `${label}: ${words}${count > 1 ? `, ${count} times` : ""}`),
    drawn("rect", { x: x + 1, y: y - BOX.height / 2, width: BOX.width - 2, height: BOX.height, rx: 4 }),
    drawn("text", { x: x + 8, y: y + 4 }, oneLine(label, 34)),
  ];
  return id === null
    ? drawn("g", { class: "neighbour" }, ...box)
    : drawn("a", { class: "neighbour", href: hashOf({ view: "object", id, options }) }, ...box);
}
