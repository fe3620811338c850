// Elements of the document. All text goes in as text nodes, with hidden characters spelt out; nothing is ever read as markup, and no style is
// set but through the object model, as the content security policy demands.
import { harmless } from "../../../lib/terminal.js";
import { runs } from "./text.js";

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {import("../../protocol.js").Failure} Failure */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element with attributes, listeners (`onclick`) and children; strings become text.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {{ [key: string]: unknown }} [attributes]
 * @param {(Child | Child[])[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  return dressed(document.createElement(name), attributes, children);
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {{ [key: string]: unknown }} [attributes]
 * @param {(Child | Child[])[]} children
 * @returns {SVGElementTagNameMap[Name]}
 */
export function drawn(name, attributes = {}, ...children) {
  return dressed(document.createElementNS(SVG, name), attributes, children);
}

/**
 * @template {Element} Made
 * @param {Made} made
 * @param {{ [key: string]: unknown }} attributes
 * @param {(Child | Child[])[]} children
 */
function dressed(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      made.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
    } else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(key, value === true ? "" : harmless(String(value)));
    }
  }
  made.append(...nodes(children));
  return made;
}

/**
 * Children as nodes.
 * @param {(Child | Child[])[]} children
 */
export function nodes(children) {
  return children.flat().flatMap((child) => {
    if (child === null || child === undefined || child === false) {
      return [];
    }
    return child instanceof Node ? [child] : textNodes(String(child));
  });
}

/**
 * Puts children in the place of those that are there. The same ones are not touched: they would lose focus and scroll.
 * @param {Element} place
 * @param {(Child | Child[])[]} children
 */
export function put(place, ...children) {
  const made = nodes(children);
  const { childNodes } = place;
  if (made.length !== childNodes.length || made.some((node, at) => node !== childNodes[at])) {
    place.replaceChildren(...made);
  }
}

/** @param {string} text */
function textNodes(text) {
  return runs(text).map((run) => {
    if (run.code === null) {
      return document.createTextNode(run.text);
    }
    const mark = document.createElement("span");
    mark.className = "hidden-character";
    mark.title = run.code;
    mark.textContent = run.text;
    return mark;
  });
}

/**
 * A button.
 * @param {string} name
 * @param {(event: Event) => void} onclick
 * @param {{ [key: string]: unknown }} [attributes]
 */
export function button(name, onclick, attributes = {}) {
  return element("button", { type: "button", ...attributes, onclick }, name);
}

/**
 * What says that something failed, in its place.
 * @param {unknown} error
 * @param {(() => void) | null} [again]
 */
export function failureBox(error, again = null) {
  const { code, message, hint } = failureOf(error);
  return element(
    "div",
    { class: "failure", role: "alert" },
    element("p", {}, element("strong", {}, message), " ", element("code", {}, code)),
    hint === null ? null : element("p", {}, hint),
    again === null ? null : button("Try again", again),
  );
}

/**
 * @param {unknown} error
 * @returns {Failure}
 */
export function failureOf(error) {
  const given = /** @type {Partial<Failure> | null} */ (typeof error === "object" ? error : null);
  return { code: given?.code ?? "PAGE", message: given?.message ?? String(error), hint: given?.hint ?? null };
}

/**
 * Fills a place with an answer once it is there, or with what failed. A newer filling of the same place, and a view that was left, win.
 * @template Answer
 * @param {Element} place
 * @param {AbortSignal} signal
 * @param {() => Promise<Answer>} ask
 * @param {(answer: Answer) => Child | Child[]} build
 * @param {{ keeps?: boolean }} [options] `keeps`: an answer that is on show stays where a newer one fails
 */
export async function fill(place, signal, ask, build, { keeps = false } = {}) {
  const turn = {};
  turns.set(place, turn);
  const isOver = () => signal.aborted || turns.get(place) !== turn;
  const hasAnswer = place.childElementCount > 0 && place.querySelector(":scope > .failure") === null;
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await ask();
    if (!isOver()) {
      put(place, build(answer));
    }
  } catch (error) {
    if (!isOver() && !(keeps && hasAnswer)) {
      put(
        place,
        failureBox(error, () => void fill(place, signal, ask, build)),
      );
    }
  } finally {
    if (!isOver()) {
      place.removeAttribute("aria-busy");
    }
  }
}

/** The newest filling of each place. */
/** @type {WeakMap<Element, object>} */
const turns = new WeakMap();
