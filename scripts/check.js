// `npm run check`: everything that CI does: lints, a check that the generated files are up to date, and the tests.
// `npm run check:all` (--all): everything there is, for hours: the same at full counts, the bill on all recorded sessions, all tests on the
// oldest Pi and on OpenClaw (scripts/test.js), and the soak at its usual length on fresh seeds.
// Continues after a failure, so that one run names everything that is wrong. Ends as `npm test` does, with a line for each failure and
// one that sums up all: what failed an hour ago has scrolled out of sight.
import { fileURLToPath } from "node:url";
import { run } from "./lib/run.js";
import { addUp, closingLines, parseClosingLines } from "./lib/test-results.js";
import { everything } from "./lib/tiers.js";
import { setUp } from "./setup.js";

const isAll = process.argv.includes("--all");
if (isAll) {
  Object.assign(process.env, everything);
}

// Builds unless the generated files are those of the last build and the sources are too.
// The lints check the extension against the types of the Pi that users run, too.
setUp(fileURLToPath(import.meta.url), { addon: "debug", pi: true });

/** @type {import("./lib/test-results.js").Results[]} */
const results = [];
await check("lint (npm run lint)", ["npm", "run", "--silent", "lint"]);
await check("binding.js and binding.d.ts are not those of the sources (npm run build:debug, then commit them)", [
  "git",
  "diff",
  "--exit-code",
  "binding.js",
  "binding.d.ts",
]);
await check("tests (npm test)", ["npm", "test", "--silent", "--", "--ci"]);
if (isAll) {
  await check("what a person types does not grow with the store (npm run bench:year)", [
    ...["npm", "run", "--silent", "bench:year", "--"],
    ...["20", "80", "--calls", "40", "--growth"],
  ]);
  await check("soak (the seed stands above)", ["npm", "run", "--silent", "soak"]);
}
const { lines, code } = closingLines(addUp(results));
console.log(lines.join("\n"));
process.exitCode = code;

/**
 * @param {string} name
 * @param {string[]} command
 */
async function check(name, [program = "", ...args]) {
  const { code, stdout } = await run(program, args);
  results.push(parseClosingLines(name, stdout, code));
}
