// `npm run demo`: one scripted coding session in the real Pi, once plain and once with Palimpsest, and what it costs.
// Figures come from the request bodies that the model server received. Exits 1 when something that must hold does not.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root, setUp } from "./setup.js";

setUp(fileURLToPath(import.meta.url), { addon: "release", pi: true });

// Only now: these run under the Node that set-up has chosen.
const { playDemo } = await import("./lib/demo-run.js");
const { describeBroughtBack, describeCosts, runChecks } = await import("./lib/demo-report.js");

const parent = join(root, "target", "demo");
rmSync(parent, { recursive: true, force: true });
mkdirSync(parent, { recursive: true });

console.log("playing one coding session in the real Pi: plain …");
const plain = await playDemo({ parent });
console.log("… and with Palimpsest\n");
const ours = await playDemo({ parent, extension: join(root, "extensions", "index.ts") });

const checks = runChecks(plain, ours);
const lines = [
  ...describeCosts(plain, ours),
  "",
  ...describeBroughtBack(ours),
  "",
  ...checks.map(({ what, holds, found }) => `${holds ? "holds" : "FAILS"}: ${what} (${found})`),
  "",
  `the store of this session: ${join(ours.sandbox.agentDir, "palimpsest", "store.sqlite")}`,
  `try it yourself: pi install ${root}, then pi in a project of yours`,
];
console.log(lines.join("\n"));
if (ours.stderr !== "") {
  console.error(`\npi said on its error output:\n${ours.stderr}`);
}
process.exitCode = checks.every((each) => each.holds) ? 0 : 1;
