// A long list of pieces of different heights: each group of them is made when it comes near, so that thousands cost nothing at first.
// Knows nothing of what pieces show.
import { element, put } from "./dom.js";

/** Pieces of a group. */
const GROUP = 30;

/** How far from the window a group is made, in pixels. */
const NEAR = 900;

/**
 * @typedef {{ node: HTMLElement, reveal: (at: number) => void }} Chunks
 */

/**
 * @param {{ label: string, count: number, build: (at: number) => HTMLElement, height: (at: number) => number, signal: AbortSignal }} options
 *   `height`: what a piece will take, roughly, in pixels
 * @returns {Chunks}
 */
export function chunks({ label, count, build, height, signal }) {
  const node = element("div", { class: "chunks", role: "list", "aria-label": label });
  /** @type {Map<Element, number>} */
  const waiting = new Map();
  /** @param {Element} group */
  const make = (group) => {
    const from = waiting.get(group);
    if (from === undefined) {
      return;
    }
    waiting.delete(group);
    watcher.unobserve(group);
    const pieces = Array.from({ length: Math.min(GROUP, count - from) }, (_, at) => build(from + at));
    put(group, pieces);
    /** @type {HTMLElement} */ (group).style.minHeight = "";
  };
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) {
          make(target);
        }
      }
    },
    { rootMargin: `${NEAR}px` },
  );
  const groups = Array.from({ length: Math.ceil(count / GROUP) }, (_, at) => {
    const from = at * GROUP;
    const group = element("div", { class: "chunk", role: "presentation" });
    const pieces = Array.from({ length: Math.min(GROUP, count - from) }, (_, piece) => height(from + piece));
    group.style.minHeight = `${pieces.reduce((sum, pixels) => sum + pixels, 0)}px`;
    waiting.set(group, from);
    watcher.observe(group);
    return group;
  });
  node.append(...groups);
  if (groups.length > 0) {
    make(groups[0]);
  }
  signal.addEventListener("abort", () => watcher.disconnect());
  return {
    node,
    reveal: (at) => {
      const group = groups[Math.floor(at / GROUP)];
      make(group);
      const piece = /** @type {HTMLElement | undefined} */ (group.children[at % GROUP]);
      piece?.scrollIntoView({ block: "center" });
      piece?.focus({ preventScroll: true });
    },
  };
}
