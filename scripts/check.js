// `npm run check`: everything that CI does: lints, a check that the generated files are up to date, the tests, and a round of the soak.
// Continues after a failure, so that one run names everything that is wrong. Ends as `npm test` does, with a line for each failure and
// one that sums up all: what failed an hour ago has scrolled out of sight.
import { fileURLToPath } from "node:url";
import { run } from "./lib/run.js";
import { addUp, closingLines, parseClosingLines } from "./lib/test-results.js";
import { setUp } from "./setup.js";

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
await check("tests (npm test)", ["npm", "test", "--silent"]);
await check("tests on OpenClaw (npm run test:openclaw)", ["npm", "run", "--silent", "test:openclaw"]);
// One round, the same each time: fresh seeds are for those who can look at what they find.
await check("soak (the seed stands above)", ["npm", "run", "--silent", "soak", "--", "0.1", "1"]);
const sum = addUp(results);
console.log(closingLines(sum).join("\n"));
process.exitCode = sum.failed === 0 ? 0 : 1;

/**
 * @param {string} name
 * @param {[string, ...string[]]} command
 */
async function check(name, [program, ...args]) {
  const { code, stdout } = await run(program, args);
  results.push(parseClosingLines(name, stdout, code));
}
