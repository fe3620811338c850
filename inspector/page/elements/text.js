// Text as a person can check it: characters that show nothing or turn the line around are spelt out, long texts come in pieces.
// Must not touch the document, nor say which characters are hidden.
import { hiddenInLines } from "../../../lib/terminal.js";

/** A run of plain text, or one character that is spelt out: `code` is its name, `U+202E`. */
/** @typedef {{ text: string, code: string | null }} Run */

/** What a long text shows at first. */
const FIRST = { lines: 12, characters: 1_200 };

/**
 * The runs of a text.
 * @param {string} text
 * @returns {Run[]}
 */
export function runs(text) {
  /** @type {Run[]} */
  const found = [];
  let from = 0;
  for (const match of text.matchAll(hiddenInLines)) {
    const [character] = match;
    if (match.index > from) {
      found.push({ text: text.slice(from, match.index), code: null });
    }
    found.push({ text: sign(character), code: codeOf(character) });
    from = match.index + character.length;
  }
  if (from < text.length || found.length === 0) {
    found.push({ text: text.slice(from), code: null });
  }
  return found;
}

/**
 * The end of a piece of at most `most` characters from `from`, which splits no pair of surrogates.
 * @param {string} text
 * @param {number} from
 * @param {number} most
 */
export function pieceEnd(text, from, most) {
  const end = Math.min(from + most, text.length);
  const isInPair = end < text.length && /[\ud800-\udbff]/.test(text[end - 1]) && /[\udc00-\udfff]/.test(text[end]);
  return isInPair ? end - 1 : end;
}

/**
 * The end of the start of a text that is shown at first: the whole, if little more would be left out.
 * @param {string} text
 */
export function startEnd(text) {
  let end = 0;
  for (let line = 0; line < FIRST.lines && end < text.length; line += 1) {
    const next = text.indexOf("\n", end);
    end = next < 0 ? text.length : next + 1;
  }
  end = Math.min(end, pieceEnd(text, 0, FIRST.characters));
  const rest = text.slice(end);
  return rest.length < 300 && rest.split("\n").length <= 4 ? text.length : end;
}

/**
 * A text in one line of at most `most` characters.
 * @param {string} text
 * @param {number} most
 */
export function oneLine(text, most) {
  const line = text
    .slice(0, most * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > most ? `${line.slice(0, pieceEnd(line, 0, most - 1))}…` : line;
}

/** @param {string} character */
function sign(character) {
  const code = character.charCodeAt(0);
  if (character.length === 1 && code < 0x20) {
    return String.fromCharCode(0x2400 + code);
  }
  return character === "\x7f" ? "\u2421" : codeOf(character);
}

/** @param {string} character */
function codeOf(character) {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
