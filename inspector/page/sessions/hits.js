// What a search of all texts found: each hit with the session that it belongs to and the lines that show why. Searches nothing itself.
import { element } from "../elements/dom.js";
import { counted } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";

/** @typedef {import("../../../index.js").SearchHit} SearchHit */
/** @typedef {import("../../protocol.js").Found} Found */

/** What hits are in, where the name of the type is not a word. @type {{ [type: string]: string }} */
const TYPES = { toolcall: "tool call", chat_segment: "segment", system_prompt: "system prompt" };
/** Types that have a view of their own. */
const OBJECTS = ["file", "toolcall", "chat_segment"];

/**
 * @param {Found} found
 * @param {import("../../protocol.js").Sessions} sessions
 */
export function hitList({ hits, sessions: owners }, sessions) {
  const items = hits.map((hit, at) => {
    const owner = owners[at];
    return hitItem(hit, owner, sessions.find(({ id }) => id === owner)?.title ?? null);
  });
  return element("ol", { class: "hits" }, ...items);
}

/**
 * @param {SearchHit} hit
 * @param {string | null} session ID of the one that it belongs to
 * @param {string | null} title
 */
function hitItem({ id, name, type, place, lines }, session, title) {
  const object = hashOf({ view: "object", id, options: session === null ? {} : { session } });
  const what = `${TYPES[type] ?? type}${/^(content|message)/.test(place) ? "" : `, ${place}`}`;
  return element(
    "li",
    {},
    session === null
      ? element("a", { href: object }, oneLine(name ?? id, 120))
      : element("a", { href: hashOf({ view: "session", id: session }) }, oneLine(title ?? "untitled", 120)),
    " ",
    session !== null && OBJECTS.includes(type)
      ? element("a", { class: "faint", href: object }, what)
      : element("span", { class: "faint" }, what),
    ...lines.map(({ text, matches }) => element("p", { class: "snippet", dir: "auto" }, ...marked(text, matches))),
  );
}

/**
 * How many hits there are.
 * @param {Found} found
 * @param {string} text
 */
export function hitsText({ hits, total }, text) {
  if (total === 0) {
    return `No text has “${text}”`;
  }
  return hits.length < total ? `The best ${hits.length} of ${counted(total, "hit")}` : counted(total, "hit");
}

/**
 * A line with its matches marked.
 * @param {string} text
 * @param {[number, number][]} matches
 */
function marked(text, matches) {
  /** @type {(HTMLElement | string)[]} */
  const parts = [];
  let at = 0;
  for (const [start, end] of matches) {
    parts.push(text.slice(at, start), element("mark", {}, text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}
