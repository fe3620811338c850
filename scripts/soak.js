// `npm run soak -- MINUTES [SEED]`: looks whether memory stays flat (scripts/soak-memory.js), sends the real Pi through a long session
// (scripts/soak-pi.js), shares 10,000 versions of four agents through one server of XTDB that is killed twice and through one that hangs
// for a minute (where there are a JDK and Maven), then plays the property tests on fresh seeds for so long, 10 minutes by default. Rounds of all programs follow
// each other; a round that began is played to its end. A failure is shown with its smallest input and the command that plays it again,
// and ends the run with exit code 1. With a SEED the rounds are the same each time, as CI needs it.
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { prepareXtdb } from "./lib/xtdb.js";
import { root, setUp } from "./setup.js";

/** The programs with their property tests, and how many inputs each tries in a round where the test has no number of its own. */
const programs = [
  { test: "live", filters: ["properties::", "replayed::", "windows::no_request"], cases: 4 },
  { test: "store", filters: ["model::", "query_model::", "search_model::", "relations_contract::"], cases: 64 },
  { test: "archive", filters: ["merge::", "fuzz::"], cases: 48 },
  { test: "graph", filters: ["markdown_properties::", "links::"], cases: 512 },
  { test: "source", filters: ["tracking_properties::"], cases: 96 },
  { test: "memory", filters: ["flush_kill::"], cases: 20 },
];

const [given = "10", first = randomInt(2 ** 47)] = process.argv.slice(2);
const minutes = Number(given);
let seed = Number(first);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error(`soak: expects minutes and a whole number, not \`${given}\` and \`${first}\``);
  process.exit(2);
}
setUp(fileURLToPath(import.meta.url), { addon: "debug", pi: true });
const tests = programs.flatMap(({ test }) => ["--test", test]);
run(["test", "--no-run", ...tests], {});

// Below a minute it is a look, as in CI.
const isLook = minutes < 1;
if (!runScript(["--expose-gc", script("soak-memory.js"), isLook ? "400" : "2000"])) {
  console.error("soak: memory does not stay flat");
  process.exit(1);
}
if (!runScript([script("soak-pi.js"), isLook ? "60" : "500", String(seed)])) {
  console.error("soak: a session of the real Pi failed");
  process.exit(1);
}
// `npm test` has short forms of these.
const missing = isLook ? "below a minute" : prepareXtdb();
if (missing !== undefined) {
  console.log(`soak: no long tests of a shared store: ${missing}`);
} else if (!run(["test", "--quiet", "--test", "xtdb", "--", "agents::", "hangs"], { PALIMPSEST_SOAK: "1" })) {
  console.error("soak: a shared store failed; again: PALIMPSEST_SOAK=1 cargo test --test xtdb -- agents:: hangs");
  process.exit(1);
}

const end = performance.now() + minutes * 60_000;
let rounds = 0;
do {
  for (const { test, filters, cases } of programs) {
    seed += 1;
    const env = { PROPTEST_CASES: String(cases), PROPTEST_RNG_SEED: String(seed) };
    const words = ["test", "--quiet", "--test", test, "--", ...filters];
    if (!run(words, env)) {
      const shown = Object.entries(env).map(([name, value]) => `${name}=${value}`);
      console.error(`soak: failed with seed ${seed}; again: ${shown.join(" ")} cargo ${words.join(" ")}`);
      process.exit(1);
    }
  }
  rounds += 1;
} while (performance.now() < end);
console.log(`soak: ${rounds} rounds of ${programs.length} programs passed`);

/** @param {string} name */
function script(name) {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** @param {string[]} words */
function runScript(words) {
  return spawnSync(process.execPath, words, { cwd: root, stdio: "inherit" }).status === 0;
}

/** @param {string[]} args @param {Record<string, string>} env */
function run(args, env) {
  const { status } = spawnSync("cargo", args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
  return status === 0;
}
