// What cargo knows of the crates that the addon builds with.
import { spawnSync } from "node:child_process";

/**
 * @typedef {{ id: string, name: string, version: string, license: string | null, manifest_path: string, source: string | null, targets: { kind: string[] }[] }} Package
 * @typedef {{ id: string, deps: { pkg: string, dep_kinds: { kind: string | null }[] }[] }} Node
 * @typedef {{ packages: Package[], resolve: { nodes: Node[], root: string } }} Metadata
 */

/**
 * For all platforms; cargo fetches what is missing. Throws what cargo says.
 * @param {string} root of the repository
 * @returns {Metadata}
 */
export function readMetadata(root) {
  const { status, stdout, stderr } = spawnSync("cargo", ["metadata", "--format-version", "1", "--locked"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (status !== 0) {
    throw new Error(`cargo could not tell the dependencies: ${stderr}`);
  }
  return JSON.parse(stdout);
}
