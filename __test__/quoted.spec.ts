// Texts of others in lines of ours: the table of what is spelt out is the same in Rust and here, and what terminal and page show is
// spelt out by it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runs } from "../inspector/page/elements/text.js";
import { what } from "../lib/describe.js";
import { findingText } from "../lib/memory-texts.js";
import { harmless, line, name } from "../lib/terminal.js";
import { oneLine } from "../lib/words.js";
import { noticeOf, offLine } from "../pi-extension/words.ts";
import { root } from "../scripts/setup.js";

interface Cases {
  /** First and last of each run of characters that are spelt out. */
  hidden: [number, number][];
  /** Text, in one line, in several. */
  texts: [string, string, string][];
}

/** Rust's own test holds these, too: src/object/quote.rs. */
const cases = JSON.parse(readFileSync(join(root, "tests", "fixtures", "quoted.json"), "utf8")) as Cases;

/** The runs of characters that a form changes, of all that are no halves of others. */
function changedBy(changes: (character: string) => boolean): [number, number][] {
  const found: [number, number][] = [];
  for (let code = 0; code < 0x11_0000; code += code === 0xd7ff ? 0x801 : 1) {
    if (changes(String.fromCodePoint(code))) {
      const last = found.at(-1);
      if (last?.[1] === code - 1) {
        last[1] = code;
      } else {
        found.push([code, code]);
      }
    }
  }
  return found;
}

describe("what is spelt out", () => {
  test("is the same for a model, a terminal and the page, character by character", () => {
    const [[, lastOfC0], ...others] = cases.hidden;
    expect(changedBy((character) => name(character) !== character)).toEqual(cases.hidden);
    const butTab = [[0, 8], [10, lastOfC0], ...others];
    expect(changedBy((character) => line(character) !== character)).toEqual(butTab);
    const butLines = [[0, 8], [11, lastOfC0], ...others];
    expect(changedBy((character) => harmless(character) !== character)).toEqual(butLines);
    expect(changedBy((character) => runs(character)[0]?.code !== null)).toEqual(butLines);
  });

  test.each(cases.texts)("%j", (text, asLine, asLines) => {
    expect([line(text), harmless(text)]).toEqual([asLine, asLines]);
    const page = runs(text).map((run) => (run.code === null ? run.text : harmless(run.code)));
    expect(page.join("").includes("\u202e")).toBe(false);
  });

  test("is half a character, too", () => {
    expect([line("a\ud800b"), harmless("a\udc00"), name("\udc00\ud800")]).toEqual([
      "a\\ud800b",
      "a\\udc00",
      "\\udc00\\ud800",
    ]);
  });

  test("is spelt out so that no two names read alike", () => {
    const names = ["a\u202eb", "a\\u202eb", "a\\u005cu202eb", "a\nb", "a b", "a\\u000ab", "a\tb", "a\u200bb", "ab"];
    expect(new Set(names.map(name)).size).toBe(names.length);
  });
});

describe("what a person reads", () => {
  const hostile = "a\n\u001b[31m\u202e\u{e0041}\u2028[t1] b";
  const spelt = "a\\u000a\\u001b[31m\\u202e\\udb40\\udc41\\u2028[t1] b";

  test.each([
    ["a file", () => what({ source: { path: hostile }, fields: {}, type: "file", id: "x", nicknames: [] } as never)],
    ["a nickname", () => what({ source: null, fields: {}, type: "file", id: "x", nicknames: [hostile] } as never)],
    ["a finding", () => findingText({ code: "DUPLICATE", words: "is there", file: hostile, line: 1 } as never)],
    ["a notice", () => noticeOf({ type: "disk_answers", path: hostile } as never) ?? ""],
    ["the status line", () => offLine(hostile)],
  ])("of %s begins no line and acts on nothing", (_, text) => {
    expect(text()).toContain(spelt);
  });

  test("of an entry stands in one line", () => {
    expect(oneLine("a\n  b\u001b\u202e", 40)).toBe("a b\\u001b\\u202e");
  });
});
