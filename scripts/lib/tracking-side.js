// Started by scripts/bench-tracking.js, one process for each side: tracks files on request and answers questions about them.
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { openStore } from "../../index.js";

const [side, path] = process.argv.slice(2);
const store = await openStore({ path });
const chokidar = side === "chokidar" ? (await import("chokidar")).default : undefined;
/** @type {import("../../index.js").Tracking | undefined} */
let tracking;
/** @type {Map<string, import("../../index.js").Source | null>} */
const sources = new Map();
/** Puts of the plain side that are under way; the next one waits for them. @type {Promise<unknown>} */
let puts = Promise.resolve();

/** When the newest version was stored, on a clock that processes share. */
let lastStored = 0;
/** Whether single changes are reported. In a burst they are not, since that would measure the pipe. */
let reports = true;

process.on("message", async (/** @type {any} */ question) => {
  if (question.index) {
    await index(question.index);
    process.send?.({ indexed: true });
  } else if (question.watch) {
    process.send?.({ readyMs: await (chokidar ? watchPlain(question.watch) : watchOurs(question.watch)) });
  } else if (question.quiet) {
    reports = false;
    process.send?.({ quiet: true });
  } else if (question.usage) {
    globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    const usage = { rss: process.memoryUsage.rss(), cpuMs: (user + system) / 1e3 };
    process.send?.({ usage: { ...usage, mostPending: tracking?.status().mostPending } });
  } else if (question.compare) {
    process.send?.(await compare(question.compare));
  }
});
process.on("disconnect", () => process.exit(0));

/** @param {string[]} names */
async function watchOurs(names) {
  const start = performance.now();
  tracking = await store.track(names, (events) => {
    lastStored = now();
    const [event] = events;
    if (reports && event.type === "updated") {
      process.send?.({ changed: { name: event.path, told: lastStored, stored: lastStored } });
    }
  });
  await tracking.settle(600_000);
  return performance.now() - start;
}

/** Puts the files into the store; both sides start with this. @param {string[]} names */
async function index(names) {
  await store.index([dirname(dirname(names[0]))]);
  for (const name of names) {
    sources.set(name, (await store.get(name)).source);
  }
}

/** @param {string[]} names */
async function watchPlain(names) {
  const start = performance.now();
  const watcher = chokidar?.watch(names, { ignoreInitial: true });
  await new Promise((resolve) => watcher?.once("ready", () => resolve(undefined)));
  watcher?.on("change", (name) => {
    const told = now();
    puts = puts.then(async () => {
      await put(name);
      lastStored = now();
      if (reports) {
        process.send?.({ changed: { name, told, stored: lastStored } });
      }
    });
  });
  return performance.now() - start;
}

/** @param {string} name */
async function put(name) {
  const content = await readFile(name, "utf8");
  const fields = { file_type: "rs", char_count: content.length };
  await store.put({ type: "file", source: sources.get(name) ?? undefined, content, fields });
}

/**
 * Waits, at most a minute, until the store has the files as they are on disk. Returns how many differ, and when the last version
 * was stored.
 * @param {string[]} names
 */
async function compare(names) {
  const deadline = performance.now() + 60_000;
  let stale = names;
  while (stale.length > 0 && performance.now() < deadline) {
    await (tracking ? tracking.settle(60_000) : puts);
    const still = [];
    for (const name of stale) {
      if (readFileSync(name, "utf8") !== (await store.content(name))) {
        still.push(name);
      }
    }
    stale = still;
  }
  return { stale: stale.length, lastStored };
}

/** Milliseconds on a clock that processes share. */
function now() {
  return performance.timeOrigin + performance.now();
}
