// What a session costs beside the agent, on recorded sessions: `node scripts/bench-session.js [--messages N] [--layout log|pools]
// [SESSION.jsonl[.gz] ...]`. Without sessions it takes some of those in `$PALIMPSEST_DATA`, else of `../shared/data`. `npm run
// bench` runs this with the addon of the benches' build.
//
// A session is repeated (new call IDs, shortened words of the person) until it has N messages, and played as a host would: the
// whole list at each call, on a store in a file. Prints, by length of the list, milliseconds from call to answer, processor
// time of all threads, and `structuredClone` of the same list; then the event loop, memory, disk, the first call of the session when it
// is opened again, and with the whole list in another store. Each session has a process of its own, so that memory is its own.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { openSession, openStore } from "../index.js";
import { root } from "./setup.js";

/**
 * @typedef {{ role: string, content: unknown, timestamp?: number, toolCallId?: string }} Message
 * @typedef {{ length: number, ms: number, cpu: number }} Call
 */

const bands = [0, 500, 1_500, 3_000, 6_000, 12_000];
/** Every so many calls the list is cloned beside. */
const cloneEvery = 10;
/** Sessions that are taken where none is named: of three agents. */
const samples = ["cli-claude-692136e2", "agent-complex-task-pi-a7c63e9d", "nimbus-opencode-bf8ddf43"];
const call = {
  systemPrompt: "system",
  tools: [],
  model: { provider: "anthropic", id: "model", contextWindow: 1_000_000, api: "anthropic-messages" },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    messages: { type: "string", default: "6000" },
    layout: { type: "string", default: "log" },
    // The process of one session.
    alone: { type: "boolean" },
  },
});
const wanted = Number(values.messages);

if (values.alone) {
  await measure(/** @type {string} */ (positionals[0]));
} else {
  const files = positionals.length > 0 ? positionals : recorded();
  if (files.length === 0) {
    console.log("no recorded sessions: name some, or set `PALIMPSEST_DATA`");
  }
  for (const file of files) {
    const options = ["--messages", values.messages, "--layout", values.layout];
    const args = ["--expose-gc", fileURLToPath(import.meta.url), "--alone", ...options, file];
    const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    process.exitCode ||= status ?? 1;
  }
}

/** Some recorded sessions. */
function recorded() {
  const folder = join(process.env.PALIMPSEST_DATA ?? join(root, "..", "shared", "data"), "transcripts");
  const found = existsSync(folder) ? readdirSync(folder) : [];
  return found.filter((name) => samples.includes(name.split(".")[0] ?? "")).map((name) => join(folder, name));
}

/** @param {string} file */
async function measure(file) {
  const messages = repeated(file);
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-session-"));
  const path = join(folder, "store.sqlite");
  const settings = { layout: /** @type {"log" | "pools"} */ (values.layout), filesystemId: "bench", store: path };
  const options = { harness: "bench", sessionId: "session", cwd: folder, settings };
  try {
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    const store = await openStore({ path });
    const session = await openSession(store, options);
    const idle = process.memoryUsage().rss;
    const { calls, loop } = await play(session, messages);
    globalThis.gc?.();
    const after = process.memoryUsage().rss;
    // Afterwards, since the clones would count as memory.
    const clones = cloned(messages, calls);
    const { epoch, billRatio } = session.status();
    console.log(
      `\n${basename(file)}, ${values.layout}: ${calls.length} calls, ${epoch} epochs, bill ${billRatio?.toFixed(3)}`,
    );
    console.log(table(calls, clones));
    await session.close();
    const host = Buffer.byteLength(messages.map((message) => JSON.stringify(message)).join("\n"));
    const size = statSync(path).size;
    const again = await resume(store, options, messages);
    await store.close();
    const anew = { ...settings, store: join(folder, "anew.sqlite") };
    const other = await openStore({ path: anew.store });
    const unknown = await resume(other, { ...options, settings: anew }, messages);
    await other.close();
    const ms = (/** @type {number} */ nanoseconds) => shown(nanoseconds / 1e6);
    console.log(`event loop held: p99 ${ms(loop.percentile(99))}, longest ${ms(loop.max)} ms`);
    console.log(`memory: open ${megabytes(idle - before)}, at the end ${megabytes(after - before)} MB more`);
    console.log(`disk: ${megabytes(size)} MB for ${megabytes(host)} MB of messages, repeated ones stored once`);
    console.log(`resumed: open ${shown(again.open)}, first call ${shown(again.first)} ms`);
    console.log(`a list that the store does not know: first call ${shown(unknown.first)} ms`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {import("../index.js").Session} session
 * @param {Message[]} messages
 */
async function play(session, messages) {
  /** @type {Call[]} */
  const calls = [];
  const loop = monitorEventLoopDelay({ resolution: 1 });
  for (let length = 1; length <= messages.length; length++) {
    if (length < messages.length && messages[length]?.role !== "assistant") {
      continue;
    }
    const list = messages.slice(0, length);
    const [began, used] = [performance.now(), process.cpuUsage()];
    loop.enable();
    await session.transformContext(/** @type {any} */ (list), call);
    loop.disable();
    const { user, system } = process.cpuUsage(used);
    calls.push({ length, ms: performance.now() - began, cpu: (user + system) / 1_000 });
  }
  return { calls, loop };
}

/**
 * How long cloning the list of some of the calls takes.
 * @param {Message[]} messages
 * @param {Call[]} calls
 * @returns {Call[]}
 */
function cloned(messages, calls) {
  const some = calls.filter((_, index) => index % cloneEvery === 0);
  return some.map(({ length }) => {
    const list = messages.slice(0, length);
    const began = performance.now();
    structuredClone(list);
    return { length, ms: performance.now() - began, cpu: 0 };
  });
}

/**
 * @param {import("../index.js").Store} store
 * @param {import("../index.js").SessionOptions} options
 * @param {Message[]} messages
 */
async function resume(store, options, messages) {
  const began = performance.now();
  const session = await openSession(store, options);
  const opened = performance.now();
  await session.transformContext(/** @type {any} */ (messages), call);
  const answered = performance.now();
  await session.close();
  return { open: opened - began, first: answered - opened };
}

/**
 * @param {Call[]} calls
 * @param {Call[]} clones
 */
function table(calls, clones) {
  const head =
    "| messages | calls | p50 ms | p95 | p99 | longest | processor p50 | structuredClone p50 | ratio |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|";
  const rows = bands.flatMap((from, index) => {
    const to = bands[index + 1] ?? Number.POSITIVE_INFINITY;
    const inside = (/** @type {Call[]} */ list) => list.filter(({ length }) => length >= from && length < to);
    const ours = inside(calls);
    if (ours.length === 0) {
      return [];
    }
    const at = percentiles(ours.map(({ ms }) => ms));
    const clone = percentiles(inside(clones).map(({ ms }) => ms))(0.5);
    const cpu = percentiles(ours.map((one) => one.cpu))(0.5);
    const cells = [at(0.5), at(0.95), at(0.99), at(1), cpu, clone, at(0.5) / clone].map(shown);
    return [`| ${from}+ | ${ours.length} | ${cells.join(" | ")} |`];
  });
  return [head, ...rows].join("\n");
}

/** @param {number[]} values @returns {(share: number) => number} */
function percentiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** @param {number} value */
function shown(value) {
  return value.toFixed(value < 10 ? 2 : 0);
}

/** @param {number} bytes */
function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1);
}

/**
 * The messages of a recorded session, repeated until there are enough.
 * @param {string} file
 * @returns {Message[]}
 */
function repeated(file) {
  const bytes = readFileSync(file);
  const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  const lines = text.trim().split("\n").slice(1);
  /** @type {Message[]} */
  const messages = [];
  for (let round = 0; messages.length < wanted; round++) {
    messages.push(...lines.map((line) => ofRound(JSON.parse(line), round)));
  }
  return messages.slice(0, wanted);
}

/**
 * A message as it is in a round: with call IDs of its own, and the person's words shortened.
 * @param {any} message
 * @param {number} round
 */
function ofRound(message, round) {
  message.timestamp = (message.timestamp ?? 0) + round * 1e9;
  if (message.toolCallId) {
    message.toolCallId += `r${round}`;
  }
  for (const block of Array.isArray(message.content) ? message.content : []) {
    if (block.type === "toolCall") {
      block.id += `r${round}`;
    }
  }
  if (round > 0 && message.role === "user") {
    const words = JSON.stringify(message.content).slice(0, 500);
    message.content = [{ type: "text", text: `again ${round} ${words}` }];
  }
  return message;
}
