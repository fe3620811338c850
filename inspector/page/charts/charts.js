// Charts over calls: areas on top of each other, lines, lanes of marks. They follow a `Walk`. Know nothing of sessions.
import { element } from "../elements/dom.js";
import { drawAmounts, drawLanes, nearMark } from "./drawing.js";
import { Plot } from "./plot.js";
import { listen } from "./pointing.js";

/** @typedef {import("./shapes.js").Series} Series */
/** @typedef {import("./shapes.js").Lane} Lane */
/**
 * What is in a chart. `words`: a value as the axis has it. `lines`: numbers of the calls at which a line stands.
 * @typedef {{ label: string, height: number, words: (value: number) => string, series: Series[], lines: number[] }} ChartData
 */
/** @typedef {{ label: string, lanes: Lane[] }} LanesData */
/** @typedef {import("./walk.js").Walk} Walk */
/**
 * What charts share. `open`: the call that is stood on; `said`: what a screen reader says of it; `marked`: indices of calls with marks.
 * @typedef {{ open: () => void, said: () => string, marked: () => number[] }} Acts
 */
/**
 * @template Data
 * @typedef {{ node: HTMLElement, show: (data: Data) => void, redraw: () => void, end: () => void }} Chart
 */

const LANE_HEIGHT = 16;
const MARGIN = { left: 64, right: 10, top: 6, bottom: 24 };

/**
 * A chart of amounts.
 * @param {Walk} walk
 * @param {Acts} acts
 * @returns {Chart<ChartData>}
 */
export function amountsChart(walk, acts) {
  return framed(walk, acts, {
    height: ({ height }) => height,
    margin: MARGIN,
    paint: (data, plot) => drawAmounts(plot, walk.numbers, data),
    snap: () => null,
  });
}

/**
 * A chart of marks, a lane for each kind.
 * @param {Walk} walk
 * @param {Acts} acts
 * @returns {Chart<LanesData>}
 */
export function lanesChart(walk, acts) {
  return framed(walk, acts, {
    height: ({ lanes }) => lanes.length * LANE_HEIGHT,
    margin: { ...MARGIN, top: 0, bottom: 0 },
    paint: ({ lanes }, plot) => drawLanes(plot, lanes),
    snap: ({ lanes }, plot, left, top) => nearMark(plot, lanes, left, top),
  });
}

/**
 * What tells a kind of chart from others. `snap`: the call that a place of the plot means, if it is not the one above it.
 * @template Data
 * @typedef {{
 *   height: (data: Data) => number,
 *   margin: import("./plot.js").Margin,
 *   paint: (data: Data, plot: Plot) => void,
 *   snap: (data: Data, plot: Plot, left: number, top: number) => number | null,
 * }} Kind
 */

/**
 * A chart in its place: as wide as that, drawn anew where the colours or the width change.
 * @template {{ label: string }} Data
 * @param {Walk} walk
 * @param {Acts} acts
 * @param {Kind<Data>} kind
 * @returns {Chart<Data>}
 */
function framed(walk, acts, kind) {
  const node = element("div", { class: "chart", role: "slider", tabindex: "0" });
  const line = element("div", { class: "cursor-line" });
  /** @type {Plot | null} */
  let plot = null;
  /** @type {Data | null} */
  let shown = null;
  const stand = () => {
    node.setAttribute("aria-valuenow", String(walk.numbers[walk.at] ?? 0));
    node.setAttribute("aria-valuetext", acts.said());
    line.style.transform = `translateX(${Math.round(plot?.left(walk.numbers[walk.at]) ?? -9)}px)`;
  };
  const zoomed = () => {
    plot?.show(walk.range);
    stand();
  };
  const draw = () => {
    const data = shown;
    if (data === null || node.clientWidth === 0 || walk.numbers.length === 0) {
      return;
    }
    const size = { width: node.clientWidth, height: kind.height(data) };
    plot = new Plot(node, size, kind.margin, (on) => kind.paint(data, on));
    plot.over.append(line);
    node.setAttribute("aria-valuemin", String(walk.numbers[0]));
    node.setAttribute("aria-valuemax", String(walk.numbers.at(-1)));
    zoomed();
  };
  listen(node, walk, acts, {
    plot: () => plot,
    snap: (on, left, top) => (shown === null ? null : kind.snap(shown, on, left, top)),
  });
  walk.addEventListener("cursor", stand);
  walk.addEventListener("range", zoomed);
  const sized = new ResizeObserver(() => node.clientWidth !== plot?.width && draw());
  sized.observe(node);
  return {
    node,
    show: (data) => {
      shown = data;
      node.style.height = `${kind.height(data)}px`;
      node.setAttribute("aria-label", data.label);
      draw();
    },
    redraw: draw,
    end: () => sized.disconnect(),
  };
}
