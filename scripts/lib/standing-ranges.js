// Finds file ranges that occur twice in one request, from the request's text and the files' text when they were read. Pure
// functions; must not know the lines that Palimpsest puts in the place of text.
import { contentText } from "./measure.js";

/**
 * @typedef {import("./scripted-model.js").RequestBody} RequestBody
 *
 * @typedef {object} ReadCall a `read` as the model made it
 * @property {string} path
 * @property {string} text the whole file at that time, which also tells its versions apart
 * @property {number} [offset] first line, from 1
 *
 * @typedef {{ first: number, last: number }} Range line numbers, from 1, both included
 * @typedef {{ path: string, range: Range, firstCall: string, secondCall: string }} Repetition
 */

/** Least number of lines of a range. */
const leastLines = 5;

/** Least number of lines in one piece, about a screen, for which a `read` is split. */
const screenLines = 20;

/**
 * Ranges of 20 lines or more of the same version of a file that occur in two `read` results of the request. A call that repeats the previous one
 * asks to see the text again and is not compared; nor are results of other tools.
 *
 * @param {RequestBody} body
 * @param {ReadonlyMap<string, ReadCall>} reads by tool call ID
 * @returns {Repetition[]}
 */
export function repeatedRanges(body, reads) {
  const repeating = repeatingCalls(body);
  /** @type {{ id: string, read: ReadCall, range: Range }[]} */
  const standing = [];
  /** @type {Repetition[]} */
  const repetitions = [];
  for (const message of body.messages) {
    const id = message.tool_call_id ?? "";
    const read = reads.get(id);
    if (read === undefined || repeating.has(id)) {
      continue;
    }
    const ranges = findRanges(contentText(message), read);
    for (const range of ranges) {
      for (const other of standing) {
        const first = Math.max(range.first, other.range.first);
        const last = Math.min(range.last, other.range.last);
        if (other.read.path === read.path && other.read.text === read.text && last - first + 1 >= screenLines) {
          repetitions.push({ path: read.path, range: { first, last }, firstCall: other.id, secondCall: id });
        }
      }
    }
    standing.push(...ranges.map((range) => ({ id, read, range })));
  }
  return repetitions;
}

/**
 * Calls with the name and arguments of the call right before them.
 * @param {RequestBody} body
 * @returns {Set<string>}
 */
function repeatingCalls(body) {
  const calls = body.messages.flatMap((message) => message.tool_calls ?? []);
  const same = calls.filter(
    (call, n) =>
      call.function.name === calls[n - 1]?.function.name &&
      call.function.arguments === calls[n - 1]?.function.arguments,
  );
  return new Set(same.map((call) => call.id));
}

/**
 * The ranges of the file that occur in `shown`; if lines repeat within the file, the longest matches first.
 * @param {string} shown
 * @param {ReadCall} read
 * @returns {Range[]}
 */
export function findRanges(shown, read) {
  const lines = shown.split("\n");
  const fileLines = read.text.split("\n");
  const places = Map.groupBy(fileLines.keys(), (index) => fileLines[index]);
  const expected = (read.offset ?? 1) - 1;
  /** @type {Range[]} */
  const ranges = [];
  let at = 0;
  while (at < lines.length) {
    let best = { start: 0, length: 0 };
    for (const start of places.get(lines[at]) ?? []) {
      const length = matchLength(lines, at, fileLines, start);
      // Among equal matches, the one at the requested place.
      if (length > best.length || (length === best.length && start === expected + at)) {
        best = { start, length };
      }
    }
    if (best.length >= leastLines) {
      ranges.push({ first: best.start + 1, last: best.start + best.length });
    }
    at += Math.max(best.length, 1);
  }
  return ranges;
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {string[]} fileLines
 * @param {number} start
 */
function matchLength(lines, at, fileLines, start) {
  let length = 0;
  while (at + length < lines.length && lines[at + length] === fileLines[start + length]) {
    length += 1;
  }
  return length;
}
