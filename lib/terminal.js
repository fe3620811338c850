// Texts of others as a terminal, and the inspector's page, may be given them: what a content, a path or a name holds must not move the
// cursor, change colours, begin a line, hide, or show in another order than it has. Which characters that are is said here for JavaScript,
// and in crates/base/src/object/quote.rs for Rust. Must not be asked about what goes to other programs as it is.

/** What begins a picture of several characters. */
const picture =
  "[\\xa9\\xae\\u203c\\u2049\\u2122\\u2139\\u2190-\\u21ff\\u2300-\\u23ff\\u2460-\\u24ff\\u25a0-\\u27bf\\u2900-\\u297f\\u2b00-\\u2bff\\u3030\\u303d\\u3297\\u3299\\u{1f000}-\\u{1faff}]";

/** Letters of scripts that join. */
const joining = "[\\u0620-\\u0dff]";

/** Joiners and selectors that make one sign of their neighbours, and hide nothing. */
const parts = [
  `(?<=${picture})[\\ufe0e\\ufe0f]`,
  "(?<=[0-9#*])[\\ufe0e\\ufe0f](?=\\u20e3)",
  `(?<=${picture}\\ufe0f?)\\u200d(?=${picture})`,
  `(?<=${joining})[\\u200c\\u200d](?=${joining})`,
].join("|");

/**
 * Controls, fillers and joiners without a shape of their own, what turns the direction of writing, variation selectors, tags, lone
 * surrogates; but for what stays.
 * @param {string} staying
 */
function hiddenBut(staying) {
  const hidden =
    "[\\0-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\p{Surrogate}]";
  return new RegExp(`(?!${parts}|${staying})${hidden}`, "gu");
}

const hiddenInLine = hiddenBut("\\t");

/** What is spelt out of a text of several lines. */
export const hiddenInLines = hiddenBut("[\\n\\t]|\\r(?=\\n)");

/** What a name has besides: a backslash that begins what reads as a character that is spelt out. */
const hiddenInName = new RegExp(`${hiddenBut("[]").source}|\\\\(?=u[0-9A-Fa-f]{4})`, "gu");

/**
 * Text whose hidden characters are spelt out as JSON spells them, `\u001b`. Line ends and tabs stay. Done twice it changes nothing more.
 * @param {string} text
 */
export function harmless(text) {
  return text.replace(hiddenInLines, spelt);
}

/**
 * The same in one line: line ends are spelt out, too.
 * @param {string} text
 */
export function line(text) {
  return text.replace(hiddenInLine, spelt);
}

/**
 * The name of a file or another thing, in one line: no two names read alike. Done twice it says what was done.
 * @param {string} text
 */
export function name(text) {
  return text.replace(hiddenInName, spelt);
}

/** What takes two columns: Chinese, Japanese and Korean signs, and pictures. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3ffff}]|\p{Emoji_Presentation}/gu;

/** Columns that a line takes on a terminal. @param {string} text */
export function columnsOf(text) {
  return [...text.replace(/[\p{Mn}\p{Me}\u200d]/gu, "").replace(wide, "xx")].length;
}

/** The beginning of a line that takes at most so many columns. @param {string} text @param {number} most */
export function beginning(text, most) {
  let [taken, end] = [0, 0];
  for (const sign of text) {
    taken += columnsOf(sign);
    if (taken > most) {
      break;
    }
    end += sign.length;
  }
  return text.slice(0, end);
}

/** @param {string} found */
function spelt(found) {
  return Array.from(
    { length: found.length },
    (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}
