// Lists of thousands of rows of one height, of which only those in sight are in the document. Knows nothing of what rows show.
import { element } from "./dom.js";

/** Rows that are kept above and below what is in sight. */
const MARGIN = 8;

/**
 * Which rows are in the document.
 * @param {{ top: number, height: number, rowHeight: number, count: number }} place
 * @returns {{ from: number, to: number }} `to` is not among them
 */
function rowsInSight({ top, height, rowHeight, count }) {
  if (rowHeight <= 0 || count <= 0) {
    return { from: 0, to: 0 };
  }
  const from = Math.floor(top / rowHeight) - MARGIN;
  const to = Math.ceil((top + height) / rowHeight) + MARGIN;
  const last = Math.min(count, Math.max(to, 0));
  return { from: Math.min(Math.max(from, 0), last), to: last };
}

/**
 * @typedef {{
 *   node: HTMLElement,
 *   show: (count: number) => void,
 *   redraw: () => void,
 *   reveal: (at: number) => void,
 * }} VirtualList
 */

/**
 * A table whose rows are made when they come into sight. Its style sheet gives rows the height `--row-height`.
 *
 * `row` makes the row with that index; `heads` are the columns; `insight` is told which rows came into sight; `place` keeps the scroll.
 * @param {{
 *   label: string,
 *   heads: string[],
 *   row: (at: number) => HTMLElement,
 *   insight?: (from: number, to: number) => void,
 *   kind: string,
 *   place?: { top?: number },
 * }} options
 * @returns {VirtualList}
 */
export function virtualList({ label, heads, row, insight, kind, place = {} }) {
  const body = element("div", { class: "rows", role: "rowgroup" });
  const head = element(
    "div",
    { class: "row head", role: "row", "aria-rowindex": "1" },
    ...heads.map((name) => element("div", { role: "columnheader", class: "cell" }, name)),
  );
  const table = element(
    "div",
    { class: `list ${kind}`, role: "table", "aria-label": label, tabindex: "0" },
    element("div", { role: "rowgroup", class: "heads" }, head),
    body,
  );
  /** @type {Map<number, HTMLElement>} */
  const made = new Map();
  let count = 0;
  let rowHeight = 0;

  const draw = () => {
    rowHeight = Number.parseFloat(getComputedStyle(table).getPropertyValue("--row-height")) || 40;
    body.style.height = `${count * rowHeight}px`;
    const { from, to } = rowsInSight({ top: table.scrollTop, height: table.clientHeight || 600, rowHeight, count });
    for (const [at, node] of made) {
      // A row that has the focus stays, or the person would lose the place.
      if ((at < from || at >= to) && !node.contains(document.activeElement)) {
        node.remove();
        made.delete(at);
      }
    }
    for (let at = from; at < to; at += 1) {
      place1(at);
    }
    insight?.(from, to);
  };

  /** @param {number} at */
  const place1 = (at) => {
    let node = made.get(at);
    if (node === undefined) {
      node = row(at);
      node.setAttribute("role", "row");
      node.setAttribute("aria-rowindex", String(at + 2));
      node.classList.add("row");
      made.set(at, node);
      body.insertBefore(node, following(at));
    }
    node.style.top = `${at * rowHeight}px`;
  };

  // Rows stand in the document in their order, so that Tab goes through them as they are seen.
  const following = (/** @type {number} */ at) => {
    let next = null;
    for (const [other, node] of made) {
      if (other > at && (next === null || other < next.at)) {
        next = { at: other, node };
      }
    }
    return next?.node ?? null;
  };

  let frame = 0;
  table.addEventListener("scroll", () => {
    place.top = table.scrollTop;
    if (frame === 0) {
      frame = requestAnimationFrame(() => {
        frame = 0;
        draw();
      });
    }
  });
  table.addEventListener("keydown", (event) => walk(event, table, draw));
  new ResizeObserver(() => {
    if (place.top !== undefined && table.scrollTop === 0 && place.top > 0) {
      draw();
      table.scrollTop = place.top;
    }
    draw();
  }).observe(table);

  return {
    node: table,
    show: (rows) => {
      const focused = body.contains(document.activeElement) ? document.activeElement : null;
      count = rows;
      table.setAttribute("aria-rowcount", String(rows + 1));
      for (const node of made.values()) {
        node.remove();
      }
      made.clear();
      draw();
      if (focused !== null) {
        likeIt(body, focused)?.focus({ preventScroll: true });
      }
    },
    redraw: draw,
    reveal: (at) => {
      table.scrollTop = Math.max(0, at * rowHeight - table.clientHeight / 2);
    },
  };
}

/**
 * The link or box that stands now where this one stood.
 * @param {HTMLElement} body
 * @param {Element} gone
 * @returns {HTMLElement | undefined}
 */
function likeIt(body, gone) {
  const all = /** @type {NodeListOf<HTMLElement>} */ (body.querySelectorAll(gone.localName));
  return [...all].find((node) => node.isEqualNode(gone));
}

/**
 * The arrow keys go from row to row by their first link. Keys may come faster than frames, so `draw` makes rows that are missing yet.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} table
 * @param {() => void} draw
 */
function walk(event, table, draw) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const present = document.activeElement?.closest(".rows > .row");
  if (step === 0 || present === null || present === undefined || !table.contains(present)) {
    return;
  }
  const next = () => (step > 0 ? present.nextElementSibling : present.previousElementSibling);
  if (next() === null) {
    draw();
  }
  const link = next()?.querySelector("a");
  if (link) {
    event.preventDefault();
    link.focus();
  }
}
