// What a release consists of: the package itself, and for each platform one with its binary, on which the package depends
// optionally; as tarballs, or laid out as they are installed. Must not build anything.
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { root } from "../setup.js";
import { origins } from "./publish.js";

/**
 * @typedef {object} Packed
 * @property {string} main the package's tarball
 * @property {string[]} platforms the tarballs of the platforms whose binary was there
 * @property {string[]} missing names of the platforms' packages whose binary was not
 */

/**
 * Packs the package and the platforms' packages.
 *
 * @param {object} options
 * @param {string} options.binaries folder with `palimpsest.<platform>.node` for one platform or more
 * @param {string} options.into folder for the tarballs; made if it is not there
 * @returns {Packed}
 */
export function packAll({ binaries, into }) {
  mkdirSync(into, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "palimpsest-pack-"));
  try {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const folders = platformFolders(work);
    const { name, version } = manifest;
    const optionalDependencies = Object.fromEntries(folders.map((platform) => [`${name}-${platform}`, version]));
    const here = (/** @type {string} */ platform) => existsSync(join(binaries, `${name}.${platform}.node`));
    const platforms = folders.filter(here).map((platform) => {
      const folder = join(work, "npm", platform);
      completePlatform(folder);
      copyFileSync(join(binaries, `${name}.${platform}.node`), join(folder, `${name}.${platform}.node`));
      return pack(folder, into);
    });
    const missing = folders.filter((platform) => !here(platform)).map((platform) => `${name}-${platform}`);
    return { main: packMain({ ...manifest, optionalDependencies }, work, into), platforms, missing };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Lays the package out as it is installed, with the binary of this clone's build in a package beside it; quicker than packing.
 * @param {string} folder where it goes
 */
export function layOut(folder) {
  const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  copyPacked(folder);
  for (const binary of readdirSync(root).filter((file) => file.endsWith(".node"))) {
    const platform = join(folder, "node_modules", binary.replace(/^(\w+)\.([\w-]+)\.node$/, "$1-$2"));
    mkdirSync(platform, { recursive: true });
    copyFileSync(join(root, binary), join(platform, binary));
    const manifest = { name: basename(platform), version, main: binary, description: `The native addon of ${name}` };
    writeFileSync(join(platform, "package.json"), JSON.stringify(manifest));
  }
}

/** What says whose work is in a package. */
const notices = ["NOTICE.md", "THIRD-PARTY.md"];

/**
 * Makes a folder with a manifest for each platform of `napi.targets`; returns their names, such as `linux-x64-gnu`.
 * @param {string} work
 */
function platformFolders(work) {
  const cli = join(root, "node_modules", "@napi-rs", "cli", "dist", "cli.js");
  // It insists on writing below the manifest that it reads.
  copyFileSync(join(root, "package.json"), join(work, "package.json"));
  run(process.execPath, [cli, "create-npm-dirs"], work);
  return readdirSync(join(work, "npm")).sort();
}

/**
 * Mends what the generator takes over from the package, and adds the licences.
 * @param {string} folder
 */
function completePlatform(folder) {
  const file = join(folder, "package.json");
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  // It is no package for Pi, which lists those by a keyword.
  delete manifest.keywords;
  manifest.type = "commonjs";
  manifest.description = `The native addon of palimpsest for ${manifest.os}, ${manifest.cpu}`;
  manifest.files.push(...notices);
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  Object.assign(manifest, Object.fromEntries(origins.map((key) => [key, own[key]])));
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of ["LICENSE", ...notices]) {
    copyFileSync(join(root, name), join(folder, name));
  }
}

/**
 * @param {Record<string, unknown>} manifest
 * @param {string} work
 * @param {string} into
 */
function packMain(manifest, work, into) {
  const folder = join(work, "main");
  copyPacked(folder);
  // It names the platforms' packages.
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return pack(folder, into);
}

/**
 * Copies the files that npm would pack of this clone.
 * @param {string} folder
 */
function copyPacked(folder) {
  const [{ files }] = JSON.parse(run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], root));
  for (const { path } of files) {
    const to = join(folder, path);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(join(root, path), to);
  }
}

/**
 * @param {string} folder
 * @param {string} into
 */
function pack(folder, into) {
  const output = run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", into], folder);
  return join(into, JSON.parse(output)[0].filename);
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd) {
  const result = spawnSync(command, args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
  if (result.status !== 0) {
    throw new Error(`${command} ${args.join(" ")} failed\n${result.error?.message ?? result.stderr}`);
  }
  return result.stdout;
}
