// The oldest line of Node that the package supports, for the tests that run Pi on it. Must not import anything from node_modules.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../setup.js";

const version = "22.23.3";
const systems = new Map([
  ["linux", "linux"],
  ["darwin", "darwin"],
  ["win32", "win"],
]);

/**
 * Path of the binary of a Node 22; downloads it, as npm checks it, unless it is there. Throws where the registry has none for this
 * platform.
 */
export function oldestNode() {
  const name = `node-${systems.get(process.platform)}-${process.arch}`;
  const unpacked = join(root, "node_modules", ".cache", `${name}-${version}`);
  const binary = join(unpacked, "package", "bin", process.platform === "win32" ? "node.exe" : "node");
  if (existsSync(binary)) {
    return binary;
  }
  mkdirSync(dirname(unpacked), { recursive: true });
  const folder = mkdtempSync(`${unpacked}-`);
  try {
    run("npm", ["pack", `${name}@${version}`, "--pack-destination", folder, "--loglevel=error"], folder);
    const [tarball] = readdirSync(folder);
    run("tar", ["-xzf", tarball], folder);
    rmSync(join(folder, tarball));
    // Under its name only when whole. Another test may have been faster.
    if (!existsSync(binary)) {
      rmSync(unpacked, { recursive: true, force: true });
      renameSync(folder, unpacked);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return binary;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd) {
  const result = spawnSync(command, args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
  if (result.status !== 0) {
    throw new Error(`${command} ${args.join(" ")} failed: ${result.error?.message ?? result.stderr}`);
  }
}
