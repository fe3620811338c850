// Drawing: elements, numbers, and charts over the calls of a session. Knows nothing of reports. Text is set as text, never
// as markup.

const SVG = "http://www.w3.org/2000/svg";
const CHART = { width: 1100, left: 64, right: 16, top: 30, bottom: 34 };

/** An HTML element with properties and children; strings become text. */
function element(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (key.startsWith("on")) {
      made.addEventListener(key.slice(2), value);
    } else if (value !== undefined && value !== false) {
      made.setAttribute(key, value);
    }
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** An SVG element with attributes and children. */
function drawn(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A number with three digits: `940`, `12.4k`, `1.25M`. */
function short(value) {
  const units = [1e9, 1e6, 1e3].map((size, at) => [size, "GMk"[at]]);
  const [size, letter] = units.find(([size]) => Math.abs(value) >= size * 0.9995) ?? [1, ""];
  return `${Number((value / size).toPrecision(3))}${letter}`;
}

/** A whole number with its thousands apart. */
function whole(value) {
  return Math.round(value ?? 0).toLocaleString("en");
}

/** A share as a percentage; "none" where there is none. */
function percent(share, digits = 0) {
  return Number.isFinite(share) ? `${(share * 100).toFixed(digits)}\u00a0%` : "none";
}

/** Round values from 0 to the first at or above `most`. */
function ticks(most, count) {
  const rough = Math.max(most, 1) / count;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max([1, 2, 5, 10].find((times) => times * size >= rough) * size, 1);
  return Array.from({ length: Math.ceil(Math.max(most, 1) / step) + 1 }, (_, at) => at * step);
}

/** Where a call begins, and how high a value stands, in the chart's own units. */
function scales(calls, most, height) {
  const marks = ticks(most, 5);
  const wide = CHART.width - CHART.left - CHART.right;
  const high = height - CHART.top - CHART.bottom;
  return {
    marks,
    x: (call) => CHART.left + (wide * call) / Math.max(calls, 1),
    y: (value) => CHART.top + high * (1 - value / marks[marks.length - 1]),
    callAt: (x) => ((x - CHART.left) / wide) * Math.max(calls, 1),
  };
}

/** The outline of values as steps: each holds from its call to the next that is shown, the last to the end. */
function steps(calls, end, values, scale) {
  const parts = values.map((value, at) => `H${scale.x(calls[at]).toFixed(1)}V${scale.y(value).toFixed(1)}`);
  return { start: scale.y(values[0] ?? 0), path: `${parts.join("")}H${scale.x(end).toFixed(1)}` };
}

/** The path of a line. */
function linePath(calls, end, values, scale) {
  const { start, path } = steps(calls, end, values, scale);
  return values.length === 0 ? "" : `M${scale.x(calls[0]).toFixed(1)} ${start.toFixed(1)}${path}`;
}

/** The path of an area between two outlines. */
function areaPath(calls, end, below, above, scale) {
  if (calls.length === 0) {
    return "";
  }
  const back = below
    .map((value, at) => `V${scale.y(value).toFixed(1)}H${scale.x(calls[at]).toFixed(1)}`)
    .reverse()
    .join("");
  return `${linePath(calls, end, above, scale)}${back}Z`;
}

/** The frame of a chart: grid, numbers, names of the axes. */
function frame(title, axis, calls, scale, height) {
  const right = CHART.width - CHART.right;
  const lines = scale.marks.flatMap((mark) => [
    drawn("line", { class: "grid", x1: CHART.left, x2: right, y1: scale.y(mark), y2: scale.y(mark) }),
    drawn("text", { x: CHART.left - 8, y: scale.y(mark) + 4, "text-anchor": "end" }, short(mark)),
  ]);
  const numbers = ticks(calls, 8)
    .filter((mark) => mark <= calls)
    .map((mark) =>
      drawn("text", { x: scale.x(mark), y: height - CHART.bottom + 16, "text-anchor": "middle" }, String(mark)),
    );
  return drawn(
    "svg",
    { viewBox: `0 0 ${CHART.width} ${height}`, role: "img", "aria-label": title, tabindex: "0" },
    ...lines,
    ...numbers,
    drawn("text", { x: right, y: height - 4, "text-anchor": "end" }, "call"),
    drawn("text", { x: 4, y: 10 }, axis),
  );
}

/** A line of a legend: a sample of the mark and its name. */
function legend(entries) {
  const sample = { area: ["rect", "fill"], line: ["path", "stroke"], mark: ["path", "fill"] };
  const shape = {
    area: { width: 18, height: 12, rx: 2 },
    line: { d: "M0 6H18", class: "line" },
    mark: { d: "M3 1H15L9 11Z" },
  };
  return element(
    "ul",
    { class: "legend" },
    ...entries.map(({ kind, color, name, dotted }) => {
      const [tag, property] = sample[kind];
      const mark = drawn(tag, { ...shape[kind], style: `${property}:${color}` });
      mark.classList.toggle("dotted", Boolean(dotted));
      return element("li", {}, drawn("svg", { viewBox: "0 0 18 12", "aria-hidden": "true" }, mark), name);
    }),
  );
}

/**
 * A chart that tells about the call under the pointer, or chosen with the arrow keys. `tell` gives the tooltip's content of
 * the point with that index.
 */
function chart({ svg, points, end, scale, height, tell }) {
  const cross = drawn("line", { class: "cross", y1: CHART.top, y2: height - CHART.bottom });
  const tip = element("div", { class: "tip", role: "status", hidden: "" });
  svg.append(cross);
  let chosen = -1;
  const choose = (at) => {
    chosen = Math.min(Math.max(at, 0), points.length - 1);
    if (chosen < 0) {
      return;
    }
    const x = scale.x((points[chosen] + (points[chosen + 1] ?? end)) / 2);
    cross.setAttribute("x1", x);
    cross.setAttribute("x2", x);
    cross.style.visibility = "visible";
    tip.replaceChildren(...tell(chosen));
    tip.hidden = false;
    const isRight = x > CHART.width / 2;
    tip.style.right = isRight ? `${100 - (100 * (x - 12)) / CHART.width}%` : "";
    tip.style.left = isRight ? "" : `${(100 * (x + 12)) / CHART.width}%`;
  };
  const leave = () => {
    tip.hidden = true;
    cross.style.visibility = "hidden";
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const call = scale.callAt(((event.clientX - box.left) * CHART.width) / box.width);
    const after = points.findIndex((point) => point > call);
    choose(after < 0 ? points.length - 1 : after - 1);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: points.length - 1 };
    if (event.key in moves) {
      event.preventDefault();
      choose(moves[event.key]);
    }
  });
  return element("div", { class: "chart" }, svg, tip);
}

globalThis.drawing = { CHART, areaPath, chart, drawn, element, frame, legend, linePath, percent, scales, short, whole };
