// Started by scripts/bench.js: compares tracking files with chokidar watching the same files in the same run. The arguments are the
// number of files and the number of changes in a burst. Each side runs in a process of its own. Writes the results to
// target/bench/tracking.json. Not meant to be run alone.
//
// Our side: from a change to the event that says its version is stored. Plain side: from the change to chokidar's event, and from
// there to the version that a program would write then (it reads the file and awaits a `put` into one of our stores). The store is
// a file on disk on both sides. Changes come one by one, each after the previous one was reported.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spread } from "./lib/store-bench.js";
import { Side } from "./lib/tracking-process.js";
import { root } from "./setup.js";

const [files = 10_000, burst = 50_000] = process.argv.slice(2).map(Number);
/** Number of timed changes, and of untimed ones before them. */
const [timed, warm] = [300, 30];
const idleMs = 5_000;

const folder = realpathSync(mkdtempSync(join(tmpdir(), "palimpsest-bench-")));
try {
  const names = makeFiles(folder);
  const ours = await measure("ours", names);
  const plain = await measure("chokidar", names);
  mkdirSync(join(root, "target", "bench"), { recursive: true });
  writeFileSync(join(root, "target", "bench", "tracking.json"), JSON.stringify({ files, burst, ours, plain }));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string} inside */
function makeFiles(inside) {
  return Array.from({ length: files }, (_, number) => {
    const part = join(inside, `part_${Math.floor(number / 50)}`);
    if (number % 50 === 0) {
      mkdirSync(part, { recursive: true });
    }
    const name = join(part, `module_${number}.rs`);
    writeFileSync(name, text(number));
    return name;
  });
}

/** About 2 KiB, another for every number. @param {number} number */
function text(number) {
  return `// ${number}\n${`let value_${number} = compute(${number});\n`.repeat(50)}`;
}

/**
 * One side, in a process of its own.
 * @param {"ours" | "chokidar"} side @param {string[]} names
 * @returns {Promise<import("./lib/bench-report.js").Tracked>}
 */
async function measure(side, names) {
  const child = new Side(side, join(folder, `${side}.sqlite`));
  await child.ask({ index: names }, "indexed");
  const start = await child.ask({ usage: true }, "usage");
  const { readyMs } = await child.ask({ watch: names }, "readyMs");
  const before = await child.ask({ usage: true }, "usage");
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const after = await child.ask({ usage: true }, "usage");
  /** @type {number[]} */
  const told = [];
  /** @type {number[]} */
  const stored = [];
  for (let turn = 0; turn < timed + warm; turn += 1) {
    const name = names[(turn * 7_919) % names.length];
    const changed = now();
    child.expect(name);
    writeFileSync(name, text(files + turn));
    const at = await child.changed();
    if (turn >= warm) {
      told.push(at.told - changed);
      stored.push(at.stored - changed);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const inBurst = await measureBurst(child, names);
  const { usage } = await child.ask({ usage: true }, "usage");
  child.end();
  return {
    readyMs,
    told: spread(told),
    stored: spread(stored),
    memoryMiB: (after.usage.rss - start.usage.rss) / 2 ** 20,
    idleMsPerSecond: (after.usage.cpuMs - before.usage.cpuMs) / (idleMs / 1_000),
    ...inBurst,
    mostPending: usage.mostPending,
  };
}

/**
 * Makes many changes as fast as possible; measures how long after the last one the store has every file as it is on disk.
 * @param {Side} child @param {string[]} names
 */
async function measureBurst(child, names) {
  await child.ask({ quiet: true }, "quiet");
  const start = now();
  for (let turn = 0; turn < burst; turn += 1) {
    const name = names[(turn * 7_919) % names.length];
    writeFileSync(name, `${text(turn)}// burst\n`);
  }
  const written = now();
  const { stale, lastStored } = await child.ask({ compare: names }, "stale");
  return { burstMs: written - start, settledMs: Math.max(0, lastStored - written), stale };
}

/** Milliseconds on a clock that processes share. */
function now() {
  return performance.timeOrigin + performance.now();
}
