// Text as a person can check it: characters that show nothing or turn the line around are spelt out, long texts come in pieces.
// Must not touch the document.

/** A run of plain text, or one character that is spelt out: `code` is its name, `U+202E`. */
/** @typedef {{ text: string, code: string | null }} Run */

// Controls but tab and line feed, fillers and joiners without a shape of their own, turners of direction, tags, lone surrogates.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\p{Surrogate}]|\u034f|[\u180b-\u180f]|[\ufe00-\ufe0f]/gu;

/** Whether a picture stands at the end of a text, so that a joiner or selector behind it belongs to it. */
const PICTURE_BEFORE = /(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}#*0-9]|\ufe0f|\u20e3)$/u;

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
  for (const match of text.matchAll(HIDDEN)) {
    const [character] = match;
    if (isHarmless(text, match.index, character)) {
      continue;
    }
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
 * A text with what is hidden spelt out, for titles and labels.
 * @param {string} text
 */
export function spelt(text) {
  return runs(text)
    .map(({ text: part, code }) => (code === null ? part : `[${code}]`))
    .join("");
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

/**
 * A carriage return of a line end, and what makes a picture of several characters, hide nothing.
 * @param {string} text
 * @param {number} at
 * @param {string} character
 */
function isHarmless(text, at, character) {
  if (character === "\r") {
    return text[at + 1] === "\n";
  }
  return (character === "\u200d" || character === "\ufe0f") && PICTURE_BEFORE.test(text.slice(Math.max(0, at - 4), at));
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
