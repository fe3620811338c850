// `npm run pack:local`: builds the addon for this platform and packs what a release consists of into `dist/`: the package and this
// platform's; and lays the package out as it is installed, for OpenClaw to link. With `--binaries DIR`, as the release workflow calls it, packs the binaries of DIR, which must be those of all platforms.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { root, setUp } from "./setup.js";

const { binaries } = parseArgs({ options: { binaries: { type: "string" } } }).values;
setUp(fileURLToPath(import.meta.url), binaries === undefined ? { addon: "release" } : {});

const { rmSync } = await import("node:fs");
const { join, relative, resolve } = await import("node:path");
const { layOut, packAll } = await import("./lib/packages.js");

const into = join(root, "dist");
rmSync(into, { recursive: true, force: true });
const { main, platforms, missing } = packAll({ binaries: binaries === undefined ? root : resolve(binaries), into });
for (const file of [...platforms, main]) {
  console.log(relative(root, file));
}
if (binaries === undefined) {
  const folder = join(into, "palimpsest");
  layOut(folder);
  console.log(relative(root, folder));
}
if (binaries !== undefined && missing.length > 0) {
  console.error(`no binary for ${missing.join(", ")}`);
  process.exitCode = 1;
}
