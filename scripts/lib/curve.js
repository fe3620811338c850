// The curve of bill against faults as a picture: one panel beside another, drawn as SVG. The same points give the same picture. Must not
// measure anything.

/**
 * @typedef {{ label: string, bill: number, faults: number }} Point `bill`: of the plain host's; `faults`: share of calls
 * @typedef {{ name: string, ours: Point[], others: Point[] }} Panel `ours`: in the order of the line that joins them
 */

const width = 440;
const height = 340;
const margin = { left: 52, right: 20, top: 34, bottom: 44 };
/** Points with a larger bill stand at the edge, with the bill in their label. */
const largestBill = 1.2;
/** Pixels between two labels, and the width that one takes. */
const label = { height: 13, width: 110 };

/**
 * @param {Panel[]} panels
 * @returns {string} the picture as SVG
 */
export function curvePicture(panels) {
  const drawn = panels.map((panel, at) => `<g transform="translate(${at * width},0)">${drawPanel(panel)}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${panels.length * width} ${height}" font-family="sans-serif" font-size="11" role="img">
<title>Bill against the share of calls that miss something</title>
<rect width="100%" height="100%" fill="#fff"/>
${drawn.join("\n")}
</svg>
`;
}

/** @param {Panel} panel */
function drawPanel({ name, ours, others }) {
  const most = Math.max(...[...ours, ...others].map(({ faults }) => faults), 0.005) * 1.15;
  const x = (/** @type {number} */ bill) =>
    margin.left + (Math.min(bill, largestBill) / largestBill) * (width - margin.left - margin.right);
  const y = (/** @type {number} */ faults) =>
    height - margin.bottom - (faults / most) * (height - margin.top - margin.bottom);
  const place = (/** @type {Point} */ { bill, faults }) => `${x(bill).toFixed(1)},${y(faults).toFixed(1)}`;
  const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2].map((bill) =>
    text(x(bill), height - margin.bottom + 16, bill.toFixed(1), "middle"),
  );
  const step = most > 0.04 ? 0.01 : 0.005;
  for (let faults = 0; faults < most; faults += step) {
    const at = y(faults).toFixed(1);
    ticks.push(`<line x1="${margin.left}" x2="${width - margin.right}" y1="${at}" y2="${at}" stroke="#ddd"/>`);
    ticks.push(text(margin.left - 6, y(faults) + 4, `${(100 * faults).toFixed(1)} %`, "end"));
  }
  const dot = (/** @type {Point} */ { label: title, bill, faults }, /** @type {string} */ colour) =>
    `<circle cx="${x(bill).toFixed(1)}" cy="${y(faults).toFixed(1)}" r="3.5" fill="${colour}"><title>${title}</title></circle>`;
  return [
    text(margin.left, 18, name, "start", "bold"),
    ...ticks,
    text(width / 2, height - 8, "bill, of the plain host's; up: calls that miss something", "middle"),
    `<polyline points="${ours.map(place).join(" ")}" fill="none" stroke="#1c6dd0"/>`,
    ...ours.map((point) => dot(point, "#1c6dd0")),
    ...others.map((point) => dot(point, "#b3541e")),
    ...labels(others.map((point) => ({ ...point, x: x(point.bill), y: y(point.faults) }))),
  ].join("\n");
}

/** Labels of points, each moved up as far as it would cover another. @param {(Point & { x: number, y: number })[]} points */
function labels(points) {
  /** @type {{ x: number, y: number }[]} */
  const written = [];
  return [...points]
    .sort((a, b) => b.y - a.y)
    .map(({ label: words, bill, x, y }) => {
      const isRight = x > width / 2;
      const at = { x: x + (isRight ? -7 : 7), y: y - 5 };
      while (
        written.some((other) => Math.abs(other.x - at.x) < label.width && Math.abs(other.y - at.y) < label.height)
      ) {
        at.y -= 1;
      }
      written.push(at);
      const beyond = bill > largestBill ? ` (${bill.toFixed(2)})` : "";
      return text(at.x, at.y, words + beyond, isRight ? "end" : "start");
    });
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {"start" | "middle" | "end"} anchor
 * @param {"normal" | "bold"} [weight]
 */
function text(x, y, words, anchor, weight = "normal") {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" font-weight="${weight}">${words}</text>`;
}
