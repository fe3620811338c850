// How charts over calls look: areas on top of each other, lines, and lanes of marks. Must not know where a person stands.

import { colour } from "../elements/theme.js";
import { roundStep } from "./plot.js";

/** @typedef {import("./shapes.js").Series} Series */
/** @typedef {import("./shapes.js").Lane} Lane */
/** @typedef {import("./charts.js").ChartData} ChartData */
/** @typedef {import("./plot.js").Plot} Plot */
/** A value for each call, or a gap. @typedef {(number | null)[]} Column */

/** How near to a mark, in pixels, a pointer is on it. */
const NEAR = 5;
/** The least height of a step of the upright axis, in pixels. */
const STEP = 36;

/**
 * Amounts: areas stacked in their order, lines over them, and upright lines at some calls.
 * @param {Plot} plot
 * @param {number[]} numbers of the calls
 * @param {ChartData} data
 */
export function drawAmounts(plot, numbers, { series, words, lines }) {
  const areas = stacked(series.filter(({ draw }) => draw === "area"));
  const others = series.filter(({ draw }) => draw !== "area");
  const sight = inSight(numbers, plot.range);
  const [bottom, top] = limits([...areas, ...others], sight);
  const { height } = plot.box;
  const y = (/** @type {number} */ value) => height * (1 - (value - bottom) / (top - bottom));
  const step = roundStep(((top - bottom) * STEP) / height);
  /** @type {{ top: number, words: string }[]} */
  const ticks = [];
  for (let tick = Math.ceil(bottom / step) * step; tick <= top; tick += step) {
    ticks.push({ top: y(tick), words: words(tick) });
  }
  plot.drawWords(ticks);
  plot.drawCalls();
  plot.within((ink) => {
    ink.fillStyle = colour("rule");
    for (const tick of ticks) {
      ink.fillRect(0, Math.round(tick.top), plot.box.width, 1);
    }
    // From the highest to the lowest, each down to zero.
    for (const area of areas.toReversed()) {
      ink.fillStyle = colour(area.colour);
      ink.fill(steps(plot, numbers, area.values, sight, y, y(0)));
    }
    ink.lineWidth = 1.5;
    for (const line of others) {
      ink.strokeStyle = colour(line.colour);
      ink.setLineDash(line.draw === "dashes" ? [5, 4] : []);
      ink.stroke(steps(plot, numbers, line.values, sight, y, null));
    }
    drawUprights(plot, ink, lines);
  });
}

/**
 * Marks, a lane for each kind.
 * @param {Plot} plot
 * @param {Lane[]} lanes
 */
export function drawLanes(plot, lanes) {
  const height = plot.box.height / lanes.length;
  plot.drawWords(lanes.map(({ name }, at) => ({ top: (at + 0.5) * height, words: name })));
  const [from, to] = plot.range;
  plot.within((ink) => {
    lanes.forEach(({ colour: name, marks }, at) => {
      ink.fillStyle = colour("rule");
      ink.globalAlpha = 1;
      ink.fillRect(0, Math.round((at + 1) * height) - 1, plot.box.width, 1);
      ink.fillStyle = colour(name);
      let before = -1;
      for (const { call, faint } of marks) {
        const left = Math.round(plot.left(call) - 1.5);
        // Of several in one place the first is drawn.
        if (call >= from && call <= to && left !== before) {
          ink.globalAlpha = faint ? 0.45 : 1;
          ink.fillRect(left, Math.round((at + 0.15) * height), 3, Math.round(height * 0.7));
          before = left;
        }
      }
    });
  });
}

/**
 * The call of the mark under the pointer; null if there is none.
 * @param {Plot} plot
 * @param {Lane[]} lanes
 * @param {number} left
 * @param {number} top
 */
export function nearMark(plot, lanes, left, top) {
  const lane = lanes[Math.floor((top / plot.box.height) * lanes.length)];
  let found = null;
  let distance = NEAR;
  for (const { call } of lane?.marks ?? []) {
    const away = Math.abs(plot.left(call) - left);
    if (away < distance) {
      [found, distance] = [call, away];
    }
  }
  return found;
}

/**
 * Areas with the sums up to each of them.
 * @param {Series[]} areas
 */
function stacked(areas) {
  /** @type {Series[]} */
  const sums = [];
  for (const area of areas) {
    const below = sums.at(-1)?.values;
    const values = area.values.map((value, at) => (value === null ? null : value + (below?.[at] ?? 0)));
    sums.push({ ...area, values });
  }
  return sums;
}

/**
 * Indices of the calls in sight; the last is not among them.
 * @param {number[]} numbers
 * @param {[number, number]} range
 * @returns {[number, number]}
 */
function inSight(numbers, [from, to]) {
  const first = numbers.findIndex((number) => number + 0.5 > from);
  return [Math.max(first, 0), numbers.findLastIndex((number) => number - 0.5 < to) + 1];
}

/**
 * From where to where values go, zero among them.
 * @param {Series[]} series
 * @param {[number, number]} sight
 * @returns {[number, number]}
 */
function limits(series, [first, end]) {
  let [bottom, top] = [0, 0];
  for (const { values } of series) {
    for (let at = first; at < end; at += 1) {
      bottom = Math.min(bottom, values[at] ?? 0);
      top = Math.max(top, values[at] ?? 0);
    }
  }
  return [bottom * 1.05, top === bottom ? 1 : top * 1.05];
}

/**
 * The outline of values as steps: each call has the room of one, half of it on either side of its number. With `floor`, what lies between
 * the outline and that height.
 * @param {Plot} plot
 * @param {number[]} numbers
 * @param {Column} values
 * @param {[number, number]} sight
 * @param {(value: number) => number} y
 * @param {number | null} floor
 */
function steps(plot, numbers, values, [first, end], y, floor) {
  const path = new Path2D();
  let isOpen = false;
  const close = (/** @type {number} */ left) => {
    if (isOpen && floor !== null) {
      path.lineTo(left, floor);
    }
    isOpen = false;
  };
  for (let at = first; at < end; at += 1) {
    const [value, left, right] = [values[at], plot.left(numbers[at] - 0.5), plot.left(numbers[at] + 0.5)];
    if (value === null) {
      close(left);
      continue;
    }
    if (!isOpen) {
      path.moveTo(left, floor ?? y(value));
      isOpen = true;
    }
    path.lineTo(left, y(value));
    path.lineTo(right, y(value));
    if (at === end - 1) {
      close(right);
    }
  }
  return path;
}

/**
 * @param {Plot} plot
 * @param {CanvasRenderingContext2D} ink
 * @param {number[]} lines
 */
function drawUprights(plot, ink, lines) {
  const [from, to] = plot.range;
  const seen = lines.filter((number) => number - 0.5 >= from && number - 0.5 <= to);
  ink.strokeStyle = colour("epoch");
  ink.lineWidth = 1;
  ink.setLineDash([3, 3]);
  // Many lines close together would hide what they stand in.
  ink.globalAlpha = Math.max(0.15, Math.min(1, 40 / seen.length));
  ink.beginPath();
  for (const number of seen) {
    const left = Math.round(plot.left(number - 0.5)) + 0.5;
    ink.moveTo(left, 0);
    ink.lineTo(left, plot.box.height);
  }
  ink.stroke();
}
