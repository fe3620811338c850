// `npm run bench:xtdb`: a shared store in XTDB beside the local one (crates/xtdb/benches/xtdb.rs). One line says what is missing for it.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { prepareXtdb } from "./lib/xtdb.js";
import { root, setUp } from "./setup.js";

setUp(fileURLToPath(import.meta.url));
const missing = prepareXtdb();
if (missing !== undefined) {
  console.log(`bench:xtdb skipped: ${missing}`);
} else {
  const { status } = spawnSync("cargo", ["bench", "--bench", "xtdb"], { cwd: root, stdio: "inherit" });
  process.exitCode = status ?? 1;
}
