// What looks at a large memory take, in processor time and by the clock: entries that name things in cited files, entries whose citations
// resolve to nothing, a large `MEMORY.md`, cited files that changed or are gone. `npm run bench` runs this with the addon of the benches'
// build.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openMemory } from "../index.js";

const entries = Number(process.argv[2] ?? 2_000);
const files = entries / 4;
const base = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
process.on("exit", () => rmSync(base, { recursive: true, force: true }));

let seed = 7;
/** A number below a limit, the same ones in each run. @param {number} limit */
function next(limit) {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return seed % limit;
}

/** @param {number} count */
function sentence(count) {
  const letters = "abdegiklmnoprstu";
  const word = () => Array.from({ length: 4 + next(4) }, () => letters[next(letters.length)]).join("");
  return Array.from({ length: count }, word).join(" ");
}

/** @param {number} file */
const source = (file) =>
  Array.from({ length: 12 }, (_, at) => {
    const body = Array.from({ length: 8 }, () => `    let ${sentence(1)} = ${sentence(1)}(${next(99)});\n`).join("");
    return `/// ${sentence(8)}\nfn step_${file}_${at}() -> u32 {\n    const LIMIT_${file}_${at}: u32 = ${next(900)};\n${body}}\n`;
  }).join("\n");

/** @param {string} path @param {string} text */
function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** A project with a memory. @param {string} name @param {string} memory */
function project(name, memory) {
  const root = join(base, name);
  write(join(root, ".pi", "memory", "MEMORY.md"), memory);
  return root;
}

/** @param {string} root */
const open = (root) => openMemory({ agentDir: join(base, "agent"), project: root, trusted: true });

/** @param {string} what @param {() => Promise<unknown>} work */
async function timed(what, work) {
  const [start, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  const seconds = `${((user + system) / 1e6).toFixed(2)} s of processor, ${((performance.now() - start) / 1_000).toFixed(2)} s`;
  console.log(`${what.padEnd(48)} ${seconds}`);
}

/** A first look, one of a later process, and one at what is known. @param {string} what @param {string} root */
async function looks(what, root) {
  console.log(`\n${what}`);
  await timed("first look", () => open(root).overview());
  const memory = open(root);
  await timed("first look of a later process", () => memory.overview());
  await timed("look while nothing changed", () => memory.overview());
  return memory;
}

/** @param {(at: number) => string} entry */
const memoryOf = (entry) => Array.from({ length: entries }, (_, at) => `- Entry ${at}: ${entry(at)}\n`).join("");

const naming = (/** @type {number} */ at) =>
  `\`step_${at % files}_${next(12)}\` and \`LIMIT_${at % files}_${next(12)}\` ${sentence(8)}, src/m${at % files}.rs`;
const root = project("named", memoryOf(naming));
const path = (/** @type {number} */ at) => join(root, "src", `m${at}.rs`);
for (let at = 0; at < files; at++) {
  write(path(at), source(at));
}
const memory = await looks(`${entries} entries that name things in ${files} files`, root);
for (let at = 0; at < files; at++) {
  writeFileSync(path(at), readFileSync(path(at), "utf8").replaceAll("LIMIT_", "MOST_"));
}
await timed("look after all files changed", () => memory.overview());
for (let at = 0; at < files / 5; at++) {
  rmSync(path(at));
}
await timed(`look after ${files / 5} files are gone`, () => memory.overview());
await timed("stale", () => memory.stale());
await looks(
  `${entries} entries whose citations resolve to nothing`,
  project(
    "unresolved",
    memoryOf((at) => `${sentence(10)}, src/none${at}.rs`),
  ),
);
const large = memoryOf(() => sentence(600)).slice(0, 5 << 20);
await looks(`MEMORY.md of ${(large.length / 2 ** 20).toFixed(1)} MB`, project("large", large));
