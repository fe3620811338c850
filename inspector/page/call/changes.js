// How a request differs from another one, in words: what is new, what left, what came back. Must not touch the document.
import { shortCount } from "../../../lib/figures.js";
import { counted } from "../elements/numbers.js";
import { wayOf } from "./why.js";

/** @typedef {import("../../protocol.js").MessageView} MessageView */
/** @typedef {import("../../protocol.js").Comparison} Comparison */
/** @typedef {"kept" | "new" | "left" | "back" | "collapsed" | "changed" | "stays" | "neither"} Fate */
/**
 * A piece, or a run of pieces. `old`, `new`: its places in the lists, where it has them.
 * @typedef {{ fate: Fate, words: string, old: number | null, new: number | null, count: number, diff: string | null }} Change
 */

/** Each fate beside the call before, in short. @type {{ [fate in Fate]?: string }} */
export const FATES = { new: "new", left: "left", back: "came back", collapsed: "collapsed", changed: "changed" };

/**
 * Each fate beside what plain would have sent. `left`, `collapsed`: what saves. `stays`, `neither`: what plain would have compacted away,
 * which ours has, or has not.
 * @type {{ [fate in Fate]?: string }}
 */
export const PLAIN_FATES = {
  new: "only ours",
  left: "left out",
  back: "only ours",
  collapsed: "shorter",
  changed: "changed",
  stays: "only ours, as given",
  neither: "in neither",
};

/** What stands as one line until it is opened, and what that says of its messages. @type {{ [fate in Fate]?: string }} */
export const RUNS = {
  kept: "the same",
  stays: "that plain would have compacted away",
  neither: "that neither request has: plain would have compacted them away",
};

/**
 * The changes since the call before.
 * @param {MessageView[]} messages
 * @param {Comparison} before
 * @param {number} call
 * @returns {Change[]}
 */
export function changesSince(messages, before, call) {
  const lastBefore = lastPosition(messages, before);
  return before.changes.map(({ change, old, new: now, count, diff }) => {
    const made = (/** @type {Fate} */ fate, words = "") => ({ fate, words, old, new: now, count, diff: diff ?? null });
    if (change === "kept") {
      return made("kept");
    }
    if (change === "removed") {
      return made("left", leftWords(before.messages[Number(old)], messages, call));
    }
    const { about } = messages[Number(now)];
    if (change === "inserted") {
      return about.position !== null && about.position <= lastBefore
        ? made("back", "It had left the window")
        : made("new", about.position === null ? "Palimpsest added it" : "");
    }
    return made(...changeWords(before.messages[Number(old)].about, about));
  });
}

/**
 * The changes against what the plain host would have sent.
 * @param {MessageView[]} messages
 * @param {Comparison} plain
 * @param {number | null} plainFrom position of the first message that plain would not have compacted away; null: it would have them all
 * @returns {Change[]}
 */
export function changesAgainstPlain(messages, plain, plainFrom) {
  const isGone = (/** @type {MessageView} */ { about }) =>
    plainFrom !== null && about.position !== null && about.position < plainFrom;
  const changes = plain.changes.flatMap(({ change, old, new: now, count, diff }) => {
    const made = (/** @type {Fate} */ fate, words = "") => ({ fate, words, old, new: now, count, diff: diff ?? null });
    if (change === "kept") {
      const run = messages.slice(Number(now), Number(now) + count);
      return run.map((view, at) => ({
        ...made(isGone(view) ? "stays" : "kept"),
        old: Number(old) + at,
        new: Number(now) + at,
        count: 1,
      }));
    }
    if (change === "inserted") {
      return [made("new", "Plain would not have sent it")];
    }
    const before = plain.messages[Number(old)];
    if (change === "removed") {
      return [isGone(before) ? made("neither") : made("left", "Plain would have sent it")];
    }
    if (isGone(before)) {
      return [{ ...made("new", "Plain would have compacted it away"), diff: null }];
    }
    const [from, to] = [before.about.tokens, messages[Number(now)].about.tokens];
    const words = `${counted(from, "token")} in plain’s request, ${shortCount(to)} in ours`;
    return [made(to < from ? "collapsed" : "changed", words)];
  });
  return joined(changes);
}

/**
 * Runs of pieces in one.
 * @param {Change[]} changes
 */
function joined(changes) {
  /** @type {Change[]} */
  const runs = [];
  for (const change of changes) {
    const last = runs.at(-1);
    if (last !== undefined && last.fate === change.fate && RUNS[change.fate] !== undefined) {
      last.count += change.count;
    } else {
      runs.push({ ...change });
    }
  }
  return runs;
}

/**
 * The tokens of a piece or a run: of the later request, of the other one where that has it alone.
 * @param {Change} change
 * @param {MessageView[]} messages
 * @param {Comparison} other
 */
export function tokensOf({ old, new: now, count }, messages, other) {
  const ofOther = Array.from({ length: count }, (_, at) => other.messages[Number(old) + at]);
  const pieces = now === null ? ofOther : messages.slice(now, now + count);
  return pieces.reduce((sum, piece) => sum + (piece?.about.tokens ?? 0), 0);
}

/**
 * How many pieces have each fate, and their tokens: of the later request, of the other one for those that left. `was`: the tokens that
 * changed ones had in the other.
 * @param {Change[]} changes
 * @param {MessageView[]} messages
 * @param {Comparison} other
 */
export function sums(changes, messages, other) {
  /** @type {Map<Fate, { count: number, tokens: number, was: number }>} */
  const found = new Map();
  for (const change of changes) {
    const { fate, old, new: now, count } = change;
    const sum = found.get(fate) ?? { count: 0, tokens: 0, was: 0 };
    sum.count += count;
    sum.was += old === null || now === null ? 0 : (other.messages[old]?.about.tokens ?? 0);
    sum.tokens += tokensOf(change, messages, other);
    found.set(fate, sum);
  }
  return found;
}

/**
 * The position of the last message of the chat that the call before had.
 * @param {MessageView[]} messages
 * @param {Comparison} before
 */
function lastPosition(messages, before) {
  let last = -1;
  for (const { change, old, new: now, count } of before.changes) {
    const pieces = change === "kept" ? messages.slice(Number(now), Number(now) + count) : [];
    for (const piece of old === null || change === "kept" ? pieces : [before.messages[old]]) {
      last = Math.max(last, piece?.about.position ?? -1);
    }
  }
  return last;
}

/**
 * @param {MessageView | undefined} piece
 * @param {MessageView[]} messages
 * @param {number} call
 */
function leftWords(piece, messages, call) {
  const position = piece?.about.position ?? null;
  if (position === null) {
    return "A piece that Palimpsest had added";
  }
  const isFolded = messages.some(
    ({ about }) => (about.position ?? position) < position && about.folds.some(({ sinceCall }) => sinceCall === call),
  );
  return isFolded
    ? "Folded: a line at the message before stands for its steps"
    : "The request does not have it any more";
}

/**
 * @param {MessageView["about"]} before
 * @param {MessageView["about"]} now
 * @returns {[Fate, string]}
 */
function changeWords(before, now) {
  const isLine = (/** @type {MessageView["about"]} */ about) => ["reference", "reread"].includes(wayOf(about));
  const tokens = `${shortCount(before.tokens)} → ${counted(now.tokens, "token")}`;
  if (isLine(now) && !isLine(before)) {
    return ["collapsed", tokens];
  }
  if (isLine(before) && !isLine(now)) {
    return ["back", tokens];
  }
  if (
    now.folds.length > 0 &&
    linesOf(
      now.folds.map(({ line }) => line),
      before.folds.map(({ line }) => line),
    ) > 0
  ) {
    return ["changed", `Steps after it were folded into a line, ${tokens}`];
  }
  if (linesOf(now.notes, before.notes) > 0) {
    return ["changed", `A note was added, ${tokens}`];
  }
  return [now.tokens < before.tokens ? "collapsed" : "changed", tokens];
}

/**
 * How many lines are not among the others.
 * @param {string[]} lines
 * @param {string[]} others
 */
function linesOf(lines, others) {
  return lines.filter((line) => !others.includes(line)).length;
}
