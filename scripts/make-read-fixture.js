/**
 * Makes tests/fixtures/pi-read.json: what Pi's own `read` tool answers to a table of cases.
 *
 * Run it again after updating Pi (`node scripts/make-read-fixture.js`); a changed fixture means that Pi's `read` changed
 * and `crates/live/src/model_tools/read.rs` must follow. Files are given by how they are made, and long answers by their length, hash and
 * end, so that the fixture stays readable.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createReadToolDefinition } from "@earendil-works/pi-coding-agent";

const LONGEST_VERBATIM = 600;
const END_LENGTH = 200;

/**
 * Each file is a list of parts `[unit, count, end, times]`: `unit` repeated `count` times, then `end`, and all of it `times` times.
 * @type {Record<string, [unit: string, count: number, end: string, times: number][]>}
 */
const files = {
  empty: [["", 1, "", 1]],
  newline: [["\n", 1, "", 1]],
  newlines: [["\n", 3, "", 1]],
  oneLine: [["no newline at the end", 1, "", 1]],
  threeLines: [["one\ntwo\nthree", 1, "", 1]],
  threeLinesEnded: [["one\ntwo\nthree\n", 1, "", 1]],
  carriageReturns: [["one\r\ntwo\r\n\rthree\r", 1, "", 1]],
  unicode: [["é ☂ 👍 e\u0301\u2028same line\u0085still\n", 4, "", 1]],
  byteOrderMark: [["\ufefffirst\nsecond\n", 1, "", 1]],
  nulBytes: [["a\0b\n\0\n", 2, "", 1]],
  noticeInside: [["a\n\n[3 more lines in file. Use offset=9 to continue.]\n\n[x]", 1, "", 1]],
  lines1999: [["x\n", 1999, "", 1]],
  lines2000: [["x\n", 1999, "x", 1]],
  lines2000Ended: [["x\n", 2000, "", 1]],
  lines2001: [["x\n", 2000, "x", 1]],
  lines2001Ended: [["x\n", 2001, "", 1]],
  lines5000: [["line of a file\n", 5000, "", 1]],
  emptyLines3000: [["\n", 3000, "", 1]],
  bytesExact: [["x", 51200, "", 1]],
  bytesExactEnded: [["x", 51200, "\n", 1]],
  bytesOneMore: [["x", 51201, "", 1]],
  bytesOneMoreEnded: [["x", 51201, "\n", 1]],
  linesExactBytes: [
    ["a", 1023, "\n", 49],
    ["a", 1024, "", 1],
  ],
  linesAllFitNewlineDoesNot: [
    ["a", 1023, "\n", 49],
    ["a", 1024, "\n", 1],
  ],
  linesExactBytesEnded: [["a", 1023, "\n", 50]],
  linesOverBytes: [["a", 1023, "\n", 51]],
  wideOverBytes: [["☂", 341, "\n", 60]],
  bothLimits: [["a", 24, "\n", 2100]],
  longThenShort: [["a", 60000, "\nshort\nshort\n", 1]],
  shortThenLong: [
    ["short\n", 3, "", 1],
    ["a", 60000, "\nshort\nshort\n", 1],
  ],
  longHalfDown: [["a", 51200 + 51, "\nshort", 1]],
  longHalfUp: [["a", 64 * 1024 + 256, "", 1]],
  longMega: [["a", 1.25 * 1024 * 1024, "\nshort", 1]],
  longWide: [["👍", 20000, "\nshort", 1]],
  longSecond: [
    ["short\n", 1, "", 1],
    ["👍", 20000, "\nshort", 1],
  ],
};

/** Arguments tried on every file; `undefined` is left out of the call. */
const everywhere = [
  [undefined, undefined],
  [1, undefined],
  [2, 1],
  [undefined, 2],
  [4, undefined],
];

/** Arguments tried on some files: edges, and what JavaScript makes of odd numbers. */
const odd = [
  [0, undefined],
  [-3, undefined],
  [-3, 2],
  [0.5, 1],
  [1.5, undefined],
  [1.5, 1],
  [2.25, 0.5],
  [1, 1.5],
  [3, 0],
  [1, 0],
  [undefined, -1],
  [2, -1],
  [2, -9],
  [1, -1],
  [3, 1e21],
  [1e21, undefined],
  [1e300, 1],
  [99, 2],
  [4.5, undefined],
  [1e-7, 1],
  [3.9, undefined],
  [2, 1000000],
  [-0.5, -0.5],
];

const far = [
  [1999, undefined],
  [2000, undefined],
  [2001, undefined],
  [2002, undefined],
  [3000, undefined],
  [3001, undefined],
  [3002, undefined],
  [4999, 1],
  [5000, 1],
  [5001, 1],
  [5002, 1],
  [1000, 2000],
  [1000, 2001],
  [2, 2000],
  [1, 2001],
  [1, 3000],
  [100.5, 2500],
  [1, -1000],
  [100, -1000],
];

/** @typedef {[offset?: number, limit?: number]} Args */
/** @typedef {[file: string, ...Args]} Case */

/** @param {string[]} names @param {(number | undefined)[][]} table @returns {Case[]} */
const crossed = (names, table) =>
  names.flatMap((file) => table.map(([offset, limit]) => /** @type {Case} */ ([file, offset, limit])));

/** @type {Case[]} */
const cases = [
  ...crossed(Object.keys(files), everywhere),
  ...crossed(["empty", "newlines", "threeLines", "threeLinesEnded", "unicode", "shortThenLong"], odd),
  ...crossed(["lines2000", "lines2000Ended", "lines2001", "lines5000", "emptyLines3000"], far),
  ["longSecond", 2, undefined],
  ["longSecond", 2, 1],
  ["longSecond", 1, 1],
  ["linesOverBytes", 50, 2],
  ["linesOverBytes", 1, 50],
  ["wideOverBytes", 10.5, undefined],
  ["bothLimits", 30, 2048],
];

/** @param {[unit: string, count: number, end: string, times: number]} part */
function partText([unit, count, end, times]) {
  return (unit.repeat(count) + end).repeat(times);
}

/** @param {string} text */
function describe(text) {
  if (Buffer.byteLength(text) <= LONGEST_VERBATIM) {
    return { text };
  }
  const bytes = Buffer.from(text);
  return {
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    end: Array.from(text).slice(-END_LENGTH).join(""),
  };
}

/**
 * @param {ReturnType<typeof createReadToolDefinition>} tool
 * @param {string} path
 * @param {number | undefined} offset
 * @param {number | undefined} limit
 */
async function answer(tool, path, offset, limit) {
  /** @type {{ path: string, offset?: number, limit?: number }} */
  const args = { path };
  if (offset !== undefined) {
    args.offset = offset;
  }
  if (limit !== undefined) {
    args.limit = limit;
  }
  try {
    // The tool needs its context only for the working folder and the model; without one it uses its own folder.
    const { content } = await tool.execute("call", args, undefined, undefined, /** @type {never} */ (undefined));
    return describe(content.map((block) => (block.type === "text" ? block.text : "")).join(""));
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

const folder = mkdtempSync(join(tmpdir(), "pi-read-"));
try {
  const tool = createReadToolDefinition(folder);
  for (const [name, parts] of Object.entries(files)) {
    writeFileSync(join(folder, name), parts.map(partText).join(""));
  }
  const answered = [];
  for (const [file, offset, limit] of cases) {
    answered.push({ file, offset, limit, ...(await answer(tool, file, offset, limit)) });
  }
  const manifest = new URL("../package.json", import.meta.resolve("@earendil-works/pi-coding-agent"));
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  const lines = (/** @type {unknown[]} */ items) => items.map((item) => `    ${JSON.stringify(item)}`).join(",\n");
  const made = Object.entries(files).map(([name, parts]) => ({ name, parts }));
  const target = join(dirname(fileURLToPath(import.meta.url)), "../tests/fixtures/pi-read.json");
  writeFileSync(
    target,
    `{\n  "pi": "${version}",\n  "files": [\n${lines(made)}\n  ],\n  "cases": [\n${lines(answered)}\n  ]\n}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
