// `npm test`: all set-up, then cargo tests, type check and vitest, with walks through the real Pi and, where they can be had, the real
// OpenClaw and XTDB. With --ci all tests on the Pi that users run, and more of them. With PROPTEST_CASES set (`npm run check:all`)
// everything: the bill on all recorded sessions, the oldest Pi and OpenClaw too. Ends with the slowest tests, a line for each failure and
// one that sums up. What failed is run once more, alone, when all has run.
// Options: --cargo-only, --bill-only, --node-only, --openclaw-only; everything else goes to cargo test or to vitest.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { settle } from "./lib/again.js";
import { runCargoTests } from "./lib/cargo.js";
import { slowness } from "./lib/machine-speed.js";
import { installOpenClaw } from "./lib/openclaw-host.js";
import { run } from "./lib/run.js";
import { addUp, closingLines, overBudget, slowestTests } from "./lib/test-results.js";
import { budgetSeconds, isEverything } from "./lib/tiers.js";
import { runVitest } from "./lib/vitest.js";
import { prepareXtdb } from "./lib/xtdb.js";
import { root, setUp } from "./setup.js";

const args = process.argv.slice(2);
const parts = ["cargo", "bill", "node", "openclaw"];
const only = parts.find((part) => args.includes(`--${part}-only`));
const forwarded = args.filter((arg) => arg !== "--ci" && !parts.some((part) => arg === `--${part}-only`));
const tier = isEverything ? "everything" : args.includes("--ci") ? "ci" : "quick";
const isOnVitest = runs("node") || only === "openclaw";

setUp(fileURLToPath(import.meta.url), isOnVitest ? { addon: "debug", pi: true } : {});

// What plays hours of sessions is optimised for it, as its dependencies always are.
const optimised = { ...process.env, CARGO_PROFILE_DEV_OPT_LEVEL: "2" };
/** @type {import("./lib/again.js").Played[]} */
const played = [];
if (runs("cargo")) {
  // Here and not in the tests, whose output nobody sees unless they fail.
  skips("the tests on XTDB", prepareXtdb());
  played.push(await runCargoTests(only === "cargo" ? forwarded : [], isEverything ? optimised : process.env));
}
if (only === "bill" || (only === undefined && isEverything)) {
  played.push(await runCargoTests(["--test", "bill", ...(only === "bill" ? forwarded : [])], optimised));
}
if (runs("node")) {
  played.push(await runTypeCheck());
}
if (isOnVitest) {
  const env = { ...process.env, ...nodeTests() };
  played.push(await runVitest(only === "openclaw" ? ["--project", "openclaw", ...forwarded] : forwarded, env));
}
const results = [];
let slow = 1;
for (const part of played) {
  slow = Math.max(slow, slowness());
  results.push(await settle(part));
}
const seconds = played.reduce((sum, part) => sum + part.seconds, 0);
const { lines, code } = closingLines(addUp([...results, overBudget(seconds, budgetSeconds[tier] * slow)]));
const times = played.flatMap((part) => part.times);
console.log(
  [...slowestTests(times), `${Math.round(seconds)} s of processor time, slowness ${slow.toFixed(1)}`, ...lines].join(
    "\n",
  ),
);
process.exitCode = code;

/** @param {string} part */
function runs(part) {
  return only === undefined || only === part;
}

/**
 * Says in one line that tests are skipped, if something is missing. Where nothing may be skipped they fail by themselves.
 * @param {string} what
 * @param {string | undefined} missing
 */
function skips(what, missing) {
  if (missing !== undefined) {
    console.error(`skipped: ${what}: ${missing}`);
  }
  return missing !== undefined;
}

/** Which tests vitest.config.ts takes: the tier's unless some were chosen, and those on OpenClaw where it can be had. */
function nodeTests() {
  if (only !== "openclaw" && forwarded.length > 0) {
    return {};
  }
  return { PALIMPSEST_TEST_TIER: tier, ...openClawTests() };
}

function openClawTests() {
  // The walk reads what Linux says of a process.
  const missing = process.platform === "linux" ? installOpenClaw() : "not tried on this system";
  if (skips("the tests on OpenClaw", missing) && process.env.PALIMPSEST_REQUIRE_ALL_TESTS !== "1") {
    return {};
  }
  return { PALIMPSEST_TEST_OPENCLAW: only === "openclaw" || isEverything ? "all" : "walk" };
}

/** @returns {Promise<import("./lib/again.js").Played>} */
async function runTypeCheck() {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const failures = [];
  // The second one has the types of the Pi that users run, the third those of browsers.
  for (const project of ["tsconfig.json", "tsconfig.current-pi.json", join("inspector", "page")]) {
    const { code } = await run(process.execPath, [tsc, "--noEmit", "--project", project]);
    if (code !== 0) {
      failures.push({ name: `the types of ${project}` });
    }
  }
  const results = { passed: 0, failed: failures.length, skipped: 0, failures, flaky: [] };
  // Types do not fail by chance.
  return { results, playAlone: async () => results, times: [], seconds: 0 };
}
