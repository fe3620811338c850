// The packages of a release, packed from this clone as users get them.
import { spawnSync } from "node:child_process";
import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Packed, packAll } from "../scripts/lib/packages.js";
import { root } from "../scripts/setup.js";

/** Packs the package and this platform's, with the addon that is built, into a folder. */
export function packRelease(folder: string): Packed {
  const binary = readdirSync(root).find((name) => name.endsWith(".node"));
  if (binary === undefined) {
    throw new Error("the addon is not built");
  }
  copyFileSync(join(root, binary), join(folder, binary));
  // A debug build takes most of a minute to compress with what debuggers need.
  spawnSync("strip", ["--strip-debug", join(folder, binary)]);
  return packAll({ binaries: folder, into: folder });
}
