// Long texts of a message cross beside its JSON: to write one into it and read it back would hold the event loop five times as long.
// `src/addon/crossing.rs` puts them together. Must not know what a message means, but where texts and images stand in one.
import { toJson } from "./arguments.js";

/** Characters from which on a text is long. */
const longCharacters = 262_144;

/** Stands for a long text. */
const mark = "\uE000long text\uE000";
const markJson = JSON.stringify(mark);

/**
 * A message as it crosses: its JSON, or if it has long texts the pieces of the JSON before, between and after them, and the texts
 * in between.
 * @param {unknown} message
 * @returns {string | string[]}
 */
export function messageJson(message) {
  const pieces = hasLongText(message) ? inPieces(message) : undefined;
  return pieces ?? toJson(message) ?? "null";
}

/**
 * @param {unknown} message
 * @returns {string[] | undefined} undefined for a message of which a text is the mark itself
 */
function inPieces(message) {
  /** @type {string[]} */
  const texts = [];
  const json = JSON.stringify(message, (_key, item) => {
    if (typeof item !== "string") {
      return item;
    }
    const text = item.toWellFormed();
    if (!isLong(text)) {
      return text;
    }
    texts.push(text);
    return mark;
  });
  const pieces = json?.split(markJson);
  return pieces?.length === texts.length + 1
    ? pieces.flatMap((piece, at) => [piece, ...texts.slice(at, at + 1)])
    : undefined;
}

/**
 * The message that crossed.
 * @param {string | string[]} json from {@link messageJson}
 * @returns {unknown}
 */
export function messageOf(json) {
  if (typeof json === "string") {
    return JSON.parse(json);
  }
  const texts = json.filter((_, at) => at % 2 === 1);
  const pieces = json.filter((_, at) => at % 2 === 0);
  return JSON.parse(pieces.join(markJson), (_key, item) => (item === mark ? texts.shift() : item));
}

/**
 * Whether a text or an image of a message is long, where hosts put them: elsewhere one crosses within the JSON. Calls no getter.
 * @param {unknown} message
 */
function hasLongText(message) {
  const content = own(message, "content") ?? own(message, "output");
  const blocks = Array.isArray(content) ? content : [];
  return isLong(content) || blocks.some((block) => isLong(own(block, "text")) || isLong(own(block, "data")));
}

/**
 * @param {unknown} object
 * @param {string} key
 * @returns {unknown}
 */
function own(object, key) {
  return Object.getOwnPropertyDescriptor(object ?? {}, key)?.value;
}

/** @param {unknown} value */
function isLong(value) {
  return typeof value === "string" && value.length >= longCharacters;
}
