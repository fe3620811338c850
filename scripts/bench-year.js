// What a year of use costs: `npm run bench:year [SESSIONS...] [--calls N] [--growth]`. Builds stores of so many sessions (150, 600 and
// 2,000), each session a copy of a recorded one under other names, and runs each command that a person types on them. Prints processor
// seconds and peak memory of the command beside its goal, and how long a session's calls wait for it meanwhile.
//
// --growth, with two sizes: ends with 1 where a command that should not feel the store grows with it. Ratios of processor time, with a
// wide bound, since they are the same on a slow machine.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { openStore } from "../index.js";
import { childSeconds } from "./lib/processor-time.js";
import { nameOf, played, writeCopies } from "./lib/year.js";
import { root } from "./setup.js";

/** @typedef {import("./lib/year.js").Message} Message */
/** @typedef {{ name: string, words: string[], goal: string, flat?: boolean }} Command */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { calls: { type: "string", default: "140" }, growth: { type: "boolean" } },
});
const sizes = positionals.length > 0 ? positionals.map(Number) : [150, 600, 2_000];
/** Sessions that are copied: of three agents. */
const samples = ["cli-claude-692136e2", "agent-complex-task-pi-a7c63e9d", "nimbus-opencode-bf8ddf43"];
/** Copies in one archive. */
const inOneArchive = 20;
/** A command that should not feel the store may take so many times as long in one of four times the size. */
const bound = 3;

/** @type {Command[]} */
const commands = [
  { name: "forget, dry run", words: ["forget", "@session"], goal: "1", flat: true },
  { name: "search", words: ["search", "error handling"], goal: "1", flat: true },
  { name: "doctor", words: ["doctor"], goal: "2" },
  { name: "objects on a terminal", words: ["objects", "--limit", "200"], goal: "1 (100 MB)" },
  { name: "objects, all", words: ["objects"], goal: "linear" },
  { name: "sessions", words: ["sessions", "--limit", "20"], goal: "0.3" },
  { name: "ledger", words: ["ledger", "@session"], goal: "0.3", flat: true },
  { name: "export of all", words: ["export", "@archive"], goal: "linear" },
  { name: "backup", words: ["backup", "@backup"], goal: "linear" },
  { name: "gc", words: ["gc", "--yes"], goal: "linear" },
  { name: "forget --yes", words: ["forget", "@session", "--yes"], goal: "linear" },
  { name: "gc --outputs unsearched", words: ["gc", "--outputs", "unsearched", "--yes"], goal: "linear" },
  { name: "gc --unused-days, dry run", words: ["gc", "--unused-days", "180"], goal: "linear" },
  { name: "gc --unused-days", words: ["gc", "--unused-days", "180", "--yes"], goal: "linear" },
];

const work = mkdtempSync(join(tmpdir(), "palimpsest-year-"));
try {
  const sessions = [];
  for (const file of recorded()) {
    const folder = mkdtempSync(join(work, "played-"));
    sessions.push(await played(messagesOf(file), folder));
  }
  if (sessions.length === 0) {
    console.log("no recorded sessions: set `PALIMPSEST_DATA`");
  } else {
    await measureAll(sessions);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** @param {import("./lib/year.js").Line[][]} sessions */
async function measureAll(sessions) {
  /** @type {Map<string, Measured[]>} */
  const rows = new Map(commands.map(({ name }) => [name, []]));
  const built = [];
  for (const size of sizes) {
    const folder = mkdtempSync(join(work, "store-"));
    const path = join(folder, "store.sqlite");
    const took = await build(sessions, size, path);
    built.push(`${size} sessions, imported in ${took.toFixed(0)} s: ${(statSync(path).size / 1e6).toFixed(0)} MB`);
    for (const command of commands) {
      rows.get(command.name)?.push(await measure(command, path, size));
    }
    rmSync(folder, { recursive: true });
  }
  console.log(built.join("\n"));
  console.log(`\n| processor seconds (peak MB, longest call beside it in ms) | ${sizes.join(" | ")} | goal |`);
  console.log(`|---|${sizes.map(() => "--:|").join("")}--:|`);
  for (const { name, goal } of commands) {
    const cells = (rows.get(name) ?? []).map(({ seconds, megabytes, wait }) => {
      return `${seconds.toFixed(2)} (${megabytes.toFixed(0)}, ${wait.toFixed(0)})`;
    });
    console.log(`| ${name} | ${cells.join(" | ")} | ${goal} |`);
  }
  if (values.growth) {
    judge(rows);
  }
}

/** @param {Map<string, Measured[]>} rows */
function judge(rows) {
  for (const { name } of commands.filter(({ flat }) => flat)) {
    const [small, large] = [rows.get(name)?.at(0)?.seconds ?? 0, rows.get(name)?.at(-1)?.seconds ?? 0];
    if (large > small * bound) {
      console.error(`${name} grows with the store: ${small.toFixed(2)} s, then ${large.toFixed(2)} s`);
      process.exitCode = 1;
    }
  }
}

/** @param {import("./lib/year.js").Line[][]} sessions @param {number} size @param {string} path */
async function build(sessions, size, path) {
  const began = performance.now();
  const archive = join(work, "copies.jsonl");
  const store = await openStore({ path });
  for (let from = 0; from < size; from += inOneArchive) {
    await writeCopies(sessions, { from, to: Math.min(from + inOneArchive, size) }, archive);
    await store.maintenance.importArchive({ path: archive });
  }
  // As the sessions that wrote them leave the indexes.
  await store.search("anything");
  await store.query("tags exists").catch(() => []);
  await store.close();
  return (performance.now() - began) / 1_000;
}

/** @typedef {{ seconds: number, megabytes: number, wait: number }} Measured */

/**
 * Runs a command while a session of another process makes calls.
 * @param {Command} command
 * @param {string} path
 * @param {number} size
 * @returns {Promise<Measured>}
 */
async function measure({ name, words }, path, size) {
  const places = {
    "@session": `session-${nameOf(size >> 1)}`,
    "@archive": join(work, "all.jsonl.zst"),
    "@backup": join(work, "backup.sqlite"),
  };
  const given = words.map((word) => places[/** @type {keyof typeof places} */ (word)] ?? word);
  rmSync(places["@backup"], { force: true });
  const beside = spawn(process.execPath, [join(root, "scripts", "lib", "year-session.js"), path], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await new Promise((resolve) => beside.stdout.once("data", resolve));
  const before = childSeconds();
  const timed = ["--require", join(root, "scripts", "lib", "peak-memory.cjs"), join(root, "bin", "palimpsest.js")];
  const run = await new Promise((resolve) => {
    const child = spawn(process.execPath, [...timed, "--store", path, ...given], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    child.stderr.on("data", (part) => (text += part));
    child.once("close", (code) => resolve({ code, text }));
  });
  const seconds = childSeconds() - before;
  if (run.code !== 0) {
    console.error(`${name} ended with ${run.code}: ${run.text}`);
    process.exitCode = 1;
  }
  const waits = new Promise((resolve) => beside.stdout.once("data", (text) => resolve(Number(text))));
  beside.stdin.end();
  const wait = /** @type {number} */ (await waits);
  await new Promise((resolve) => beside.once("close", resolve));
  return { seconds, megabytes: Number(/peak (\d+)/.exec(run.text)?.[1] ?? 0) / 1_024, wait };
}

/** The recorded sessions. */
function recorded() {
  const folder = join(process.env.PALIMPSEST_DATA ?? join(root, "..", "shared", "data"), "transcripts");
  const found = existsSync(folder) ? readdirSync(folder) : [];
  return found.filter((name) => samples.includes(name.split(".")[0] ?? "")).map((name) => join(folder, name));
}

/** As many messages as make the calls. @param {string} file @returns {Message[]} */
function messagesOf(file) {
  const bytes = readFileSync(file);
  const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  const messages = text
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line));
  return messages.slice(0, Number(values.calls) * 2);
}
