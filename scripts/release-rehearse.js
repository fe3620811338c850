// `npm run release:rehearse`: plays a release against a registry on loopback, whose every package is refused once; then installs what
// came of it as users do, runs the README's script there, and has Pi install it. Prints a table. Platforms that cannot be built here have
// stubs for binaries, unless `--binaries DIR` has them all. `--debug` takes the debug build, to try the script itself.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { root, setUp } from "./setup.js";

const { values } = parseArgs({ options: { binaries: { type: "string" }, debug: { type: "boolean" } } });
const build = values.debug ? "debug" : "release";
setUp(fileURLToPath(import.meta.url), { pi: true, ...(values.binaries === undefined && { addon: build }) });

const { mkdtempSync, rmSync } = await import("node:fs");
const { tmpdir } = await import("node:os");
const { join, resolve } = await import("node:path");
const { rehearse } = await import("./lib/rehearsal.js");

const work = mkdtempSync(join(tmpdir(), "palimpsest-rehearsal-"));
try {
  const steps = await rehearse(work, values.binaries === undefined ? root : resolve(values.binaries));
  const rows = steps.map(({ name, seconds, said }) => `| ${name} | ${seconds.toFixed(1)} | ${said} |`);
  console.log(["", "| step | seconds | result |", "|---|--:|---|", ...rows].join("\n"));
  process.exitCode = steps.every(({ isGood }) => isGood) ? 0 : 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
