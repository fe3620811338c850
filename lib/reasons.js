// Says in words how a message of a recorded call is shown and why, for the command and the extension.
import { shortFigures } from "./figures.js";

/** @typedef {import("../index.js").MessageAbout} MessageAbout */

/** Why a message is not in the store as it went out. */
const WITHHELD = {
  excluded: "excluded: it shows a file that the setting `exclude` names, and is not stored",
  secret:
    "not stored: it holds what looks like a secret, and its command may have read a file that the setting `exclude` names",
  forgotten: "forgotten: a person removed its text",
  redacted: "redacted: what looks like a secret was taken out",
};

/**
 * How a message is shown and why, in lines.
 * @param {MessageAbout} about
 */
export function reasons({ position, shown, sinceCall, sinceEpoch, reason, notes, folds, withheld, digest }) {
  const lines = [position === null ? "a message that is not in the chat in this form" : treatment(shown)];
  if (sinceCall !== null) {
    lines.push(
      sinceEpoch === null
        ? `since call ${sinceCall}, when it was first sent`
        : `since call ${sinceCall}, by epoch ${sinceEpoch}: ${shortFigures(reason ?? "")}`,
    );
  }
  lines.push(...notes.map((note) => `with the note: ${note.split("\n")[0]}`));
  for (const fold of folds) {
    lines.push(
      `carries ${fold.line}`,
      `  since call ${fold.sinceCall}, by epoch ${fold.sinceEpoch}: ${shortFigures(fold.reason ?? "")}`,
    );
  }
  if (withheld !== null) {
    lines.push(`${WITHHELD[withheld]}; it went out as the host gave it, SHA-256 ${digest ?? "not known"}`);
  }
  return lines;
}

/**
 * How a message is shown.
 * @param {MessageAbout["shown"]} shown
 */
function treatment(shown) {
  switch (shown?.as ?? "given") {
    case "given":
      return "as the host gave it";
    case "reference":
      return "a line stands for its content";
    case "excerpt":
      return `an excerpt of what the host gave: ${pieces(shown?.pieces)}`;
    case "reread":
      return "lines that stood in the window already are named, not shown again";
    case "current":
      return "the current text of the file";
    default:
      return String(shown?.as);
  }
}

/** @typedef {{ shown?: number[], ends?: number[], chars?: number, between?: number[], standing?: number[], at?: number }} Piece */

/**
 * The lines of an excerpt, in words.
 * @param {unknown} given
 */
function pieces(given) {
  const all = /** @type {Piece[]} */ (Array.isArray(given) ? given : []);
  const words = all.map(({ shown, ends, chars, between, standing, at }) => {
    const lines = shown ?? ends;
    if (lines !== undefined) {
      return `${range(lines)} shown${chars === undefined ? "" : `, cut to ${chars} characters each`}`;
    }
    return between === undefined
      ? `${range(standing)} stand in message ${Number(at) + 1}`
      : `${range(between)} left out`;
  });
  return words.join("; ");
}

/** @param {number[] | undefined} lines first and last */
function range([first, last] = []) {
  return first === last ? `line ${first}` : `lines ${first}-${last}`;
}
