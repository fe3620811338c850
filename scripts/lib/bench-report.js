// What `npm run bench` reads of its tools and prints at the end: means beside those of the plain equivalent. Pure.

/**
 * @typedef {object} Row
 * @property {string} what what was measured
 * @property {number} ours mean in ms
 * @property {string} beside the plain equivalent
 * @property {number} plain its mean in ms, of the same run
 *
 * @typedef {(name: string) => number | undefined} Read mean of a bench in ms; undefined if it did not run
 */

const lengths = [100, 1_000, 5_000];
const versions = [1_000, 10_000];
const shares = ["0.01 %", "0.1 %", "0.9 %", "10 %", "50 %", "0.1 % and 50 %", "10 % and 50 %", "three in most"];

/**
 * The rows for all benches that ran.
 * @param {Read} criterion
 * @param {Read} vitest
 * @returns {Row[]}
 */
export function comparison(criterion, vitest) {
  const rows = [
    ...lengths.map((length) =>
      row(
        [`transformContext, ${length} messages`, vitest(`transformContext-${length}`)],
        ["structuredClone", vitest(`structuredClone-${length}`)],
      ),
    ),
    ...["memory", "sqlite"].flatMap((store) => {
      const first = `transform/${store}/${lengths[0]}`;
      return lengths.map((length) =>
        row(
          [`Rust part, ${store}, ${length} messages`, criterion(`transform/${store}/${length}`)],
          [`at ${lengths[0]} messages`, criterion(first)],
        ),
      );
    }),
    ...versions.flatMap((count) => [
      row(
        [`put and commit, ${count} versions`, criterion(`put and commit/store/${count}`)],
        ["plain table", criterion(`put and commit/plain/${count}`)],
      ),
      row(
        [`get, ${count} versions`, criterion(`get/store/${count}`)],
        ["plain table", criterion(`get/plain/${count}`)],
      ),
      ...["transaction", "time"].map((by) =>
        row(
          [`get as of ${by}, ${count} versions`, criterion(`as of/store by ${by}/${count}`)],
          ["plain table", criterion(`as of/plain/${count}`)],
        ),
      ),
    ]),
    ...shares.map((share) =>
      row(
        [`search, 100,000 objects, words in ${share}`, criterion(`search/store/${share}`)],
        ["plain FTS5", criterion(`search/plain/${share}`)],
      ),
    ),
  ];
  return rows.filter((found) => found !== undefined);
}

/**
 * The addon's library among what cargo built, by its messages.
 * @param {string} messages one JSON object per line
 * @returns {string | undefined}
 */
export function libraryOf(messages) {
  /** @type {{ target?: { name: string, crate_types: string[] }, filenames?: string[] }[]} */
  const artifacts = messages
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
  const ours = artifacts.find(({ target }) => target?.name === "palimpsest" && target.crate_types.includes("cdylib"));
  return ours?.filenames?.find((name) => /\.(so|dylib|dll)$/.test(name));
}

/**
 * @param {readonly Row[]} rows
 * @returns {string} a table, ratio last
 */
export function ratioTable(rows) {
  const head = ["mean per call", "ms", "beside", "ms", "ratio"];
  const cells = rows.map(({ what, ours, beside, plain }) => [
    what,
    ours.toPrecision(3),
    beside,
    plain.toPrecision(3),
    (ours / plain).toFixed(2),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...cells.map((line) => line[column].length)));
  const isNumber = (/** @type {number} */ column) => column === 1 || column >= 3;
  const pad = (/** @type {string} */ cell, /** @type {number} */ column) =>
    isNumber(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]);
  return [head, ...cells].map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}

/**
 * @param {[string, number | undefined]} ours
 * @param {[string, number | undefined]} plain
 * @returns {Row | undefined}
 */
function row([what, mean], [beside, meanBeside]) {
  return mean === undefined || meanBeside === undefined ? undefined : { what, ours: mean, beside, plain: meanBeside };
}
