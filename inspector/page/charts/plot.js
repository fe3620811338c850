// A canvas with a scale for calls: where a call stands on it, and axes beside it. Knows nothing of what is drawn.
import { element } from "../elements/dom.js";
import { colour } from "../elements/theme.js";

/** Room around what is drawn, in pixels. @typedef {{ left: number, right: number, top: number, bottom: number }} Margin */

const FONT = "11px system-ui, sans-serif";

/** A canvas in its place. What is drawn stands in `box`; over it lies `over`, for what follows the pointer. */
export class Plot {
  /**
   * @param {HTMLElement} place
   * @param {{ width: number, height: number }} size
   * @param {Margin} margin
   * @param {(plot: Plot) => void} paint
   */
  constructor(place, { width, height }, margin, paint) {
    this.width = width;
    this.height = height;
    this.paint = paint;
    this.box = {
      left: margin.left,
      top: margin.top,
      width: Math.max(1, width - margin.left - margin.right),
      height: Math.max(1, height - margin.top - margin.bottom),
    };
    /** @type {[number, number]} */
    this.range = [0, 1];
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.over = element("div", { class: "over" });
    const { style } = this.over;
    style.left = `${this.box.left}px`;
    style.top = `${this.box.top}px`;
    style.width = `${this.box.width}px`;
    style.height = `${this.box.height}px`;
    this.ink = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    place.replaceChildren(this.canvas, this.over);
  }

  /**
   * Draws what is in sight.
   * @param {[number, number]} range from where to where calls go
   */
  show(range) {
    this.range = range;
    const { canvas, ink, width, height } = this;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    ink.scale(ratio, ratio);
    ink.font = FONT;
    this.paint(this);
  }

  /**
   * Where a call stands, in pixels from the left of `over`.
   * @param {number} call
   */
  left(call) {
    const [from, to] = this.range;
    return ((call - from) / (to - from)) * this.box.width;
  }

  /**
   * The place of the axis that is so many pixels from the left of `over`.
   * @param {number} left
   */
  call(left) {
    const [from, to] = this.range;
    return from + (left / this.box.width) * (to - from);
  }

  /** Numbers of calls below what is drawn. */
  drawCalls() {
    const { ink, box, range } = this;
    const [from, to] = range;
    const step = Math.max(1, roundStep(((to - from) * 80) / box.width));
    ink.fillStyle = colour("faint");
    ink.textBaseline = "top";
    for (let call = Math.ceil(from / step) * step; call <= to; call += step) {
      // The last one stays on the canvas.
      ink.textAlign = this.left(call) > box.width - 16 ? "right" : "center";
      ink.fillText(String(call), box.left + this.left(call), box.top + box.height + 7);
    }
  }

  /**
   * Words beside what is drawn, each in the middle of a height from the top of `over`.
   * @param {{ top: number, words: string }[]} entries
   */
  drawWords(entries) {
    const { ink, box } = this;
    ink.fillStyle = colour("faint");
    ink.textAlign = "right";
    ink.textBaseline = "middle";
    for (const { top, words } of entries) {
      ink.fillText(words, box.left - 6, box.top + top, box.left - 8);
    }
  }

  /**
   * Lets `draw` draw within `box`, counting from its left top.
   * @param {(ink: CanvasRenderingContext2D) => void} draw
   */
  within(draw) {
    const { ink, box } = this;
    ink.save();
    ink.beginPath();
    ink.rect(box.left, box.top, box.width, box.height);
    ink.clip();
    ink.translate(box.left, box.top);
    draw(ink);
    ink.restore();
  }
}

/**
 * The first of 1, 2, 5, 10, 20 … that is not less.
 * @param {number} least above 0
 */
export function roundStep(least) {
  const size = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((times) => times * size >= least) ?? 10) * size;
}
