// How a person moves in a chart: by keys, pointer and wheel. Must not draw.
import { element } from "../elements/dom.js";
import { keyed } from "./walk.js";

/** @typedef {import("./charts.js").Acts} Acts */
/** @typedef {import("./charts.js").Walk} Walk */
/**
 * The chart that is there now. `snap`: the call that a place of the plot means, if it is not the one above it.
 * @typedef {{
 *   plot: () => import("./plot.js").Plot | null,
 *   snap: (plot: import("./plot.js").Plot, left: number, top: number) => number | null,
 * }} Ground
 */

/** A pointer that moved less than this, in pixels, clicked. */
const CLICK = 6;

/**
 * Follows what a person does in the place of a chart.
 * @param {HTMLElement} node
 * @param {Walk} walk
 * @param {Acts} acts
 * @param {Ground} ground
 */
export function listen(node, walk, acts, ground) {
  node.addEventListener("keydown", (event) => {
    const isOurs = !(event.ctrlKey || event.metaKey || event.altKey);
    if (isOurs && keyed(walk, event, { open: acts.open, marked: acts.marked() })) {
      event.preventDefault();
    }
  });
  node.addEventListener("wheel", (event) => wheel(event, walk, node.clientWidth), { passive: false });
  point(node, walk, acts, ground);
}

/**
 * @param {HTMLElement} node
 * @param {Walk} walk
 * @param {Acts} acts
 * @param {Ground} ground
 */
function point(node, walk, acts, ground) {
  const choice = element("div", { class: "choice", hidden: true });
  /** Where the pointer went down; null while it is up. */
  /** @type {number | null} */
  let from = null;
  /** Where the pointer is, if it is on the plot or was dragged off it. */
  const place = (/** @type {PointerEvent} */ event) => {
    const plot = ground.plot();
    if (plot === null || (from === null && !(event.target instanceof Node && plot.over.contains(event.target)))) {
      return null;
    }
    const { left, top, width } = plot.over.getBoundingClientRect();
    return { plot, left: Math.min(Math.max(event.clientX - left, 0), width), top: event.clientY - top };
  };
  const isDragged = (/** @type {number} */ left) => from !== null && Math.abs(left - from) >= CLICK;

  node.addEventListener("pointermove", (event) => {
    const on = place(event);
    if (on === null) {
      return;
    }
    walk.to(walk.nearest(ground.snap(on.plot, on.left, on.top) ?? on.plot.call(on.left)));
    choice.hidden = !isDragged(on.left);
    if (from !== null && !choice.hidden) {
      on.plot.over.append(choice);
      choice.style.left = `${Math.min(from, on.left)}px`;
      choice.style.width = `${Math.abs(on.left - from)}px`;
    }
  });
  node.addEventListener("pointerdown", (event) => {
    // A finger scrolls the page; what it touches is stood on.
    if (event.button === 0 && event.pointerType !== "touch") {
      from = place(event)?.left ?? null;
      if (from !== null) {
        node.setPointerCapture(event.pointerId);
      }
    }
  });
  node.addEventListener("pointerup", (event) => {
    const on = place(event);
    if (on !== null && from !== null) {
      if (isDragged(on.left)) {
        const [low, high] = [Math.min(from, on.left), Math.max(from, on.left)];
        walk.show(on.plot.call(low), on.plot.call(high));
      } else {
        acts.open();
      }
    }
    choice.hidden = true;
    from = null;
  });
  node.addEventListener("pointercancel", () => {
    choice.hidden = true;
    from = null;
  });
}

/**
 * The plain wheel scrolls the page; with Ctrl, as a pinch on a touch pad sends it, it zooms; sideways it moves along.
 * @param {WheelEvent} event
 * @param {Walk} walk
 * @param {number} width
 */
function wheel(event, walk, width) {
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    walk.zoom(event.deltaY > 0 ? 1.25 : 0.8);
  } else if (walk.isZoomed && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    const [from, to] = walk.range;
    walk.pan(((to - from) * event.deltaX) / width);
  }
}
