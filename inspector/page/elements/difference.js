// A unified difference, line by line. Shows text only, and a long one in pieces.
import { diffLines } from "./diff-lines.js";
import { button, element } from "./dom.js";
import { counted } from "./numbers.js";

/** Lines that are shown at first, and with each step on. */
const FIRST = 12;
const MORE = 500;

/** A difference of so many characters was cut on its way. */
const CUT = 19_999;

/** The longest part of a line that is shown, in characters. */
const MOST = 2_000;

/**
 * The difference, its start open.
 * @param {string} unified
 * @param {{ first?: number, mayBeCut?: boolean }} [options]
 */
export function difference(unified, { first = FIRST, mayBeCut = true } = {}) {
  const lines = diffLines(unified);
  const body = element("div", { class: "diff-lines" });
  const node = element("div", { class: "diff" }, body);
  let shown = 0;
  const more = button("", () => show(MORE), { class: "plain" });
  const show = (/** @type {number} */ count) => {
    body.append(...lines.slice(shown, shown + count).map(lineNode));
    shown = Math.min(lines.length, shown + count);
    more.hidden = shown === lines.length;
    more.textContent = `Show ${counted(Math.min(MORE, lines.length - shown), "more line")} of the difference`;
  };
  // A rest of a few lines is not worth a button.
  show(lines.length <= first + 4 ? lines.length : first);
  const isCut = mayBeCut && unified.length >= CUT;
  node.append(more, isCut ? element("p", { class: "faint cut" }, "The difference goes on: this is its start.") : "");
  return node;
}

const SIGNS = { added: "+", removed: "−", same: " ", place: "" };
const NAMES = { added: "added", removed: "removed", same: "", place: "" };

/** @param {import("./diff-lines.js").DiffLine} line */
function lineNode({ kind, text }) {
  const shown = text.length > MOST ? `${text.slice(0, MOST)}…` : text;
  return element(
    "div",
    { class: `diff-line ${kind}` },
    element(
      "span",
      { class: "sign", "aria-label": NAMES[kind] || null, role: NAMES[kind] === "" ? null : "img" },
      SIGNS[kind],
    ),
    element("span", { class: "code" }, shown),
  );
}
