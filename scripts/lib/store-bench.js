// Helpers for the bench of the store: percentiles of single calls, and the same texts and searches as crates/store/benches/search.rs. Pure.

/** The searches, by the share of objects with the words. The mark `needleN` occurs in every Nth object. */
export const searches = [
  ["0.01 %", "needle10000"],
  ["0.1 %", "needle1000"],
  ["0.9 %", "needle110"],
  ["10 %", "needle10"],
  ["50 %", "needle2"],
  ["0.1 % and 50 %", "needle1000 needle2"],
  ["10 % and 50 %", "needle10 needle2"],
  ["most, three words", "value compute number"],
];

const marks = [10_000, 1_000, 110, 10, 2];

/** Number of timed calls: at least 30 and at least 1.5 s, at most 3,000. */
const [fewest, most, longestMs] = [30, 3_000, 1_500];

/**
 * Times calls one after another, each awaited. The first calls, a tenth of the least number, are not counted.
 * @param {(turn: number) => unknown} call gets the number of earlier calls
 * @returns {Promise<import("./bench-report.js").Spread>}
 */
export async function measure(call) {
  const samples = [];
  const warm = fewest / 10;
  const start = performance.now();
  for (let turn = 0; turn < most + warm; turn += 1) {
    const before = performance.now();
    const result = call(turn);
    if (result instanceof Promise) {
      await result;
    }
    const after = performance.now();
    if (turn >= warm) {
      samples.push(after - before);
    }
    if (samples.length >= fewest && after - start > longestMs) {
      break;
    }
  }
  return spread(samples);
}

/**
 * @param {number[]} samples at least one
 * @returns {import("./bench-report.js").Spread}
 */
export function spread(samples) {
  const sorted = samples.toSorted((one, other) => one - other);
  const at = (/** @type {number} */ share) => sorted[Math.ceil(share * sorted.length) - 1];
  return { median: at(0.5), p95: at(0.95) };
}

/**
 * About 2 KiB of source-like text, different for every number: identifiers of a few hundred words, some in most objects.
 * @param {number} number
 */
export function text(number) {
  const lines = Array.from({ length: 36 }, (_, line) => {
    const [one, other] = [(number * 31 + line * 17) % 997, (number * 7 + line * 101) % 4_999];
    return `    let value_${line} = compute_name${one}(number${other}, ${line});`;
  });
  for (const mark of marks.filter((mark) => number % mark === 0)) {
    lines.splice(18, 0, `    // needle${mark} stands here`);
  }
  return lines.join("\n");
}
