// A unified difference as lines that say what became of them. Must not touch the document.

/** @typedef {{ kind: "added" | "removed" | "same" | "place", text: string }} DiffLine */

/**
 * The lines of a unified difference, without the names of its files. A line that differs in its end alone is the same.
 * @param {string} unified
 * @returns {DiffLine[]}
 */
export function diffLines(unified) {
  const all = unified.replace(/\n$/, "").split("\n");
  const from = all.findIndex((line) => line.startsWith("@@"));
  const given = all.slice(Math.max(from, 0));
  const lines = given.filter((line) => !line.startsWith("\\ ")).map(lineOf);
  const whole = lines.filter(
    ({ kind }, at) => kind !== "place" || at > 0 || !/^line [01] → line [01]$/.test(lines[at].text),
  );
  return given.some((line) => line.startsWith("\\ ")) ? withoutEnds(whole) : whole;
}

/**
 * @param {DiffLine[]} lines
 * @returns {DiffLine[]}
 */
function withoutEnds(lines) {
  const last = lines.findLastIndex(({ kind }) => kind === "removed");
  const at = lines.findIndex(({ kind, text }, place) => place > last && kind === "added" && text === lines[last]?.text);
  return last >= 0 && at === last + 1
    ? [...lines.slice(0, last), { kind: "same", text: lines[last].text }, ...lines.slice(at + 1)]
    : lines;
}

/**
 * @param {string} line
 * @returns {DiffLine}
 */
function lineOf(line) {
  if (/^(?:@@|…)/.test(line)) {
    return { kind: "place", text: placeText(line) };
  }
  const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
  return { kind, text: line.slice(1) };
}

/** @param {string} line `@@ -1,60 +1 @@`, or how many lines were left out */
function placeText(line) {
  const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
  return found === null ? line : `line ${found[1]} → line ${found[3]}`;
}
