// Parses what the tools of `npm run bench` print, and makes the tables at its end: means, or medians and 95th percentiles, beside
// those of the plain equivalent. Pure.

/**
 * @typedef {object} Row
 * @property {string} what what was measured
 * @property {number} ours mean in ms
 * @property {string} beside the plain equivalent
 * @property {number} plain its mean in ms, of the same run
 *
 * @typedef {object} Spread of single calls, in ms
 * @property {number} median
 * @property {number} p95
 *
 * @typedef {object} Percentiles
 * @property {string} what what was measured
 * @property {Spread} ours
 * @property {string} beside the plain equivalent
 * @property {Spread} plain of the same run
 *
 * @typedef {object} Tracked what tracking files came to
 * @property {number} readyMs until all files were watched
 * @property {Spread} told from a change to the event
 * @property {Spread} stored from a change to its version
 * @property {number} memoryMiB more than before
 * @property {number} idleMsPerSecond processor time while nothing changes
 * @property {number} burstMs how long the burst took
 * @property {number} settledMs from its end to the last version
 * @property {number} stale files that differed between store and disk a minute later
 * @property {number} [mostPending] largest number of waiting files
 *
 * @typedef {(name: string) => number | undefined} Read mean of a bench in ms; undefined if it did not run
 */

const lengths = [100, 1_000, 5_000];

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
  ];
  return rows.filter((found) => found !== undefined);
}

/**
 * Rows of what the Rust benches of the store printed, each beside the plain bench of its group and parameter.
 * @param {string} output of criterion, with lines as benches/common/samples.rs prints them
 * @returns {Percentiles[]}
 */
export function rustPercentiles(output) {
  const lines = [...output.matchAll(/^percentiles: (.+)\/(.+)\/(.+) = (\S+) (\S+)$/gm)];
  const found = lines.map(([, group, name, parameter, median, p95]) => {
    return { group, name, parameter, spread: { median: Number(median) / 1e3, p95: Number(p95) / 1e3 } };
  });
  return found.flatMap(({ group, name, parameter, spread }) => {
    const beside = found.find((other) => {
      return other.name === "plain" && other.group === group && other.parameter === parameter;
    });
    if (name === "plain" || beside === undefined) {
      return [];
    }
    const of = /^\d+$/.test(parameter) ? `${Number(parameter).toLocaleString("en")} objects` : parameter;
    const asked = group === "search" ? `words in ${of}` : of;
    const what = `${group}${name.replace("store", "")}, ${asked}`;
    return [{ what, ours: spread, beside: "rusqlite", plain: beside.spread }];
  });
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
  return table([head, ...cells], [0, 2]);
}

/**
 * @param {string} title
 * @param {readonly Percentiles[]} rows
 * @returns {string} a table, ratio of the medians last
 */
export function percentileTable(title, rows) {
  const head = [title, "median ms", "p95 ms", "beside", "median ms", "p95 ms", "ratio"];
  const cells = rows.map(({ what, ours, beside, plain }) => {
    const [one, other] = [ours, plain].map(({ median, p95 }) => [median.toPrecision(3), p95.toPrecision(3)]);
    return [what, ...one, beside, ...other, (ours.median / plain.median).toFixed(2)];
  });
  return table([head, ...cells], [0, 3]);
}

/**
 * Tracked files beside a watcher of the same ones.
 * @param {{ files: number, burst: number, ours: Tracked, plain: Tracked }} found
 */
export function trackingTable({ files, burst, ours, plain }) {
  const count = (/** @type {number} */ number) => number.toLocaleString("en");
  /** @param {string} what @param {(side: Tracked) => number} of */
  const row = (what, of) => {
    const [one, other] = [of(ours), of(plain)];
    return [what, one.toPrecision(3), "chokidar", other.toPrecision(3), other === 0 ? "" : (one / other).toFixed(2)];
  };
  const rows = [
    row("ms from a change to its event, median", (side) => side.told.median),
    row("the same, p95", (side) => side.told.p95),
    row("ms from a change to its version, median", (side) => side.stored.median),
    row("the same, p95", (side) => side.stored.p95),
    row("MiB of memory more", (side) => side.memoryMiB),
    row("ms of the processor per idle second", (side) => side.idleMsPerSecond),
    row("ms until all are watched", (side) => side.readyMs),
    row(`ms from the end of ${count(burst)} changes to the last version`, (side) => side.settledMs),
    row("files stored otherwise than on disk after it", (side) => side.stale),
  ];
  const head = [`tracking, ${count(files)} files`, "ours", "beside", "", "ratio"];
  const pending = `of ${count(files)} tracked files at most ${count(ours.mostPending ?? 0)} waited at once`;
  return `${table([head, ...rows], [0, 2])}\n${pending}`;
}

/**
 * @param {readonly string[][]} lines
 * @param {readonly number[]} words columns that are not numbers
 */
function table(lines, words) {
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const pad = (/** @type {string} */ cell, /** @type {number} */ column) =>
    words.includes(column) ? cell.padEnd(widths[column]) : cell.padStart(widths[column]);
  return lines.map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}

/**
 * @param {[string, number | undefined]} ours
 * @param {[string, number | undefined]} plain
 * @returns {Row | undefined}
 */
function row([what, mean], [beside, meanBeside]) {
  return mean === undefined || meanBeside === undefined ? undefined : { what, ours: mean, beside, plain: meanBeside };
}
