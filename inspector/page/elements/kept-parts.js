// A place whose parts stay as they are until what they show changes: a person who looks at something that is being written keeps what was
// opened, and the focus. Knows no view.
import { element } from "./dom.js";

/** @typedef {{ name: string, of: unknown, build: () => Element }} Part `of`: what it shows, as JSON can hold it */

const focusable = "a[href], button, input, select, summary, [tabindex]";

/**
 * Shows parts in a place that nothing else fills. Returns what shows them as they are now.
 * @param {Element} place
 */
export function keptParts(place) {
  /** @type {Map<string, { shows: string, node: Element }>} */
  let known = new Map();
  return (/** @type {(Part | null)[]} */ parts) => {
    /** @type {typeof known} */
    const now = new Map();
    for (const part of parts) {
      if (part !== null) {
        const before = known.get(part.name);
        const shows = JSON.stringify(part.of);
        now.set(part.name, before?.shows === shows ? before : { shows, node: part.build() });
      }
    }
    const focus = focusIn(known);
    known = now;
    arrange(
      place,
      [...now.values()].map(({ node }) => node),
    );
    const again = focus && now.get(focus.name)?.node.querySelectorAll(focusable)[focus.at];
    if (again instanceof HTMLElement && !place.contains(document.activeElement)) {
      again.focus({ preventScroll: true });
    }
  };
}

/**
 * A heading as a part.
 * @param {string} text
 * @returns {Part}
 */
export function headingPart(text) {
  return { name: text, of: null, build: () => element("h2", {}, text) };
}

/**
 * In which part the focus is, and at which of its elements that can have it.
 * @param {Map<string, { node: Element }>} parts
 */
function focusIn(parts) {
  for (const [name, { node }] of parts) {
    const at = [...node.querySelectorAll(focusable)].indexOf(/** @type {Element} */ (document.activeElement));
    if (at >= 0) {
      return { name, at };
    }
  }
  return null;
}

/**
 * Moves no element that is in its place: one that is taken out loses its focus and its scroll.
 * @param {Element} place
 * @param {Element[]} nodes
 */
function arrange(place, nodes) {
  const staying = new Set(nodes);
  for (const node of [...place.children]) {
    if (!staying.has(node)) {
      node.remove();
    }
  }
  nodes.forEach((node, at) => {
    if (place.children[at] !== node) {
      place.insertBefore(node, place.children[at] ?? null);
    }
  });
}
