// `npm run test:openclaw`: the tests that run the real OpenClaw, after all set-up; ends as `npm test` does. Everything on the
// command line goes to vitest. Apart from `npm test`, since they need 600 MB of packages that nothing else needs.
import { fileURLToPath } from "node:url";
import { settle } from "./lib/again.js";
import { closingLines } from "./lib/test-results.js";
import { runVitest } from "./lib/vitest.js";
import { setUp } from "./setup.js";

setUp(fileURLToPath(import.meta.url), { addon: "debug", pi: true, openClaw: true });

const env = { ...process.env, PALIMPSEST_TEST_OPENCLAW: "1" };
const played = await runVitest(["--project", "openclaw", ...process.argv.slice(2)], env);
const { lines, code } = closingLines(await settle(played));
console.log(lines.join("\n"));
process.exitCode = code;
