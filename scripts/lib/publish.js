// Publishes a release to the registry that npm is set to: all of it or, run again, what an earlier run left. Must not build or pack.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** What each package says of the place that it comes from. */
export const origins = ["repository", "homepage", "bugs"];

/** @typedef {{ file: string, manifest: Record<string, any> }} Tarball */

/**
 * @param {object} release
 * @param {string} release.folder with the tarballs
 * @param {string[]} release.options further ones of `npm publish`
 * @param {boolean} release.isCheck whether nothing is published
 * @returns {string | undefined} what is wrong, in one line
 */
export function publishAll({ folder, options, isCheck }) {
  const tarballs = readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .map((file) => ({ file, manifest: manifestOf(join(folder, file)) }));
  const problem = problemOf(tarballs);
  if (problem !== undefined) {
    return problem;
  }
  // The package depends on the others.
  const depends = (/** @type {Tarball} */ { manifest }) => Object.keys(manifest.optionalDependencies ?? {}).length;
  for (const { file, manifest } of tarballs.sort((a, b) => depends(a) - depends(b) || (a.file < b.file ? -1 : 1))) {
    const name = `${manifest.name}@${manifest.version}`;
    if (npm(folder, ["view", name, "version"]).stdout.trim() === manifest.version) {
      console.log(`${name} is there`);
    } else if (isCheck) {
      console.log(`${name} would be published`);
    } else {
      // Without `./` npm takes the name for a repository.
      const { status, stderr } = npm(folder, ["publish", `./${file}`, "--access", "public", ...options]);
      if (status !== 0) {
        const why = stderr.split("\n").find((line) => /^npm error (?!code )/.test(line)) ?? "npm failed";
        return `${name} was not published; run this again to go on with it: ${why}`;
      }
      console.log(`${name} is published`);
    }
  }
  return undefined;
}

/** @param {Tarball[]} tarballs */
function problemOf(tarballs) {
  const names = new Map(tarballs.map(({ manifest }) => [manifest.name, manifest.version]));
  const missing = tarballs.flatMap(({ manifest }) =>
    Object.entries(manifest.optionalDependencies ?? {}).filter(([name, version]) => names.get(name) !== version),
  );
  if (tarballs.length === 0 || missing.length > 0) {
    return `packages are missing: ${missing.map(([name]) => name).join(", ") || "all of them"}`;
  }
  const lacking = tarballs.find(({ manifest }) => origins.some((key) => manifest[key] === undefined));
  return lacking === undefined
    ? undefined
    : `${lacking.manifest.name} does not say where it comes from: set \`${origins.join("`, `")}\` in package.json`;
}

/**
 * The manifest in a tarball of npm.
 * @param {string} file
 * @returns {Record<string, any>}
 */
export function manifestOf(file) {
  return JSON.parse(spawnSync("tar", ["-xOzf", file, "package/package.json"], { encoding: "utf8" }).stdout);
}

/** @param {string} cwd @param {string[]} args */
function npm(cwd, args) {
  return spawnSync("npm", args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
}
