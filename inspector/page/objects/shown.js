// In which calls an object was shown, and how: as a strip over the session, and in words. Knows no source.
import { drawn, element } from "../elements/dom.js";
import { hashOf } from "../routes.js";
import { runText, SHOWN_WAYS, shownNow } from "./runs.js";

/** @typedef {import("../../../index.js").ShownRun} ShownRun */

/**
 * A strip over all calls of a session, in which each run has its colour.
 * @param {ShownRun[]} shown
 * @param {number} calls
 */
export function shownStrip(shown, calls) {
  const all = Math.max(calls, 1);
  return drawn(
    "svg",
    {
      class: "strip",
      viewBox: `0 0 ${all} 1`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${shownNow(shown, calls)}; ${shown.length} runs of calls`,
    },
    ...shown.map(({ from, to, as }) =>
      drawn(
        "rect",
        { class: as, x: from - 1, y: 0, width: to - from + 1, height: 1 },
        drawn("title", {}, runText({ from, to, as })),
      ),
    ),
  );
}

/**
 * The runs one by one, each with links to its calls.
 * @param {ShownRun[]} shown
 * @param {string} session
 * @param {string} handle
 */
export function shownList(shown, session, handle) {
  const link = (/** @type {number} */ call) =>
    element("a", { href: hashOf({ view: "call", id: session, call, options: { object: handle } }) }, String(call));
  return element(
    "ol",
    { class: "runs" },
    ...shown.map(({ from, to, as }) =>
      element(
        "li",
        {},
        element("i", { class: `swatch way-${as}`, "aria-hidden": "true" }),
        from === to ? "call " : "calls ",
        link(from),
        from === to ? "" : " to ",
        from === to ? "" : link(to),
        `: ${SHOWN_WAYS[as]}`,
      ),
    ),
  );
}
