// The steps of a rehearsed release: pack, look into the packages, publish to loopback with failures, install as users do. Must not reach
// the public registry but for the package managers that it tries.
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { pinnedNode, root } from "../setup.js";
import { oldestNode } from "./node-versions.js";
import { packAll } from "./packages.js";
import { createSandbox, runPi } from "./pi.js";
import { currentPi } from "./pi-versions.js";
import { manifestOf, origins } from "./publish.js";
import { serveRegistry } from "./registry.js";
import { startScriptedModel } from "./scripted-model.js";

/** @typedef {{ name: string, seconds: number, said: string, isGood: boolean }} Step */
/** @typedef {import("./registry.js").Registry} Registry */

/** The largest binary that is published, in bytes, and the same compressed. */
const [largestBinary, largestCompressed] = [27e6, 12e6];

const managers = ["pnpm@10", "bun@1"];

/**
 * Plays a release.
 * @param {string} work an empty folder
 * @param {string} binaries folder with the binary of this platform or of more
 * @returns {Promise<Step[]>}
 */
export async function rehearse(work, binaries) {
  /** @type {Step[]} */
  const steps = [];
  /** @param {string} name @param {() => Promise<string> | string} action */
  const step = async (name, action) => {
    const start = performance.now();
    let [said, isGood] = ["", true];
    try {
      said = await action();
    } catch (error) {
      [said, isGood] = [String(/** @type {Error} */ (error).message ?? error).split("\n", 1)[0] ?? "", false];
    }
    steps.push({ name, seconds: (performance.now() - start) / 1000, said, isGood });
    console.error(`${isGood ? "done" : "FAILED"}: ${name}`);
  };
  const dist = join(work, "dist");
  /** @type {Set<string>} */
  const refused = new Set();
  const refuses = (/** @type {string} */ name) => !refused.has(name) && refused.add(name).has(name);
  const registry = await serveRegistry({ refuses });
  try {
    await step("pack eight packages", () => packed(work, binaries, dist));
    await step("look into them", () => examined(dist));
    await step("publish, each refused once", () => published(dist, work, registry));
    await step("npm, Node 22", () => installed(work, registry, "npm", oldestNode()));
    await step("npm, Node 24", () => installed(work, registry, "npm", pinnedNode()));
    for (const manager of managers) {
      await step(manager, () => installed(work, registry, manager, pinnedNode()));
    }
    await step(`pi install, Pi ${currentPi}`, () => piInstalled(registry));
  } finally {
    registry.close();
  }
  return steps;
}

/** @param {string} work @param {string} binaries @param {string} into */
function packed(work, binaries, into) {
  const all = join(work, "binaries");
  mkdirSync(all);
  const { napi, name } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  // The packer says which are missing by the names that the generator has for them: here all of them.
  const { missing } = packAll({ binaries: all, into: join(work, "first") });
  for (const platform of missing) {
    writeFileSync(join(all, `${name}.${platform.slice(name.length + 1)}.node`), "a stub");
  }
  const real = readdirSync(binaries).filter((each) => each.endsWith(".node"));
  for (const file of real) {
    copyFileSync(join(binaries, file), join(all, file));
    // A debug build takes most of a minute to compress with what debuggers need.
    spawnSync("strip", ["--strip-debug", join(all, file)]);
  }
  const { platforms } = packAll({ binaries: all, into });
  if (platforms.length !== napi.targets.length) {
    throw new Error(`${platforms.length} platforms were packed of ${napi.targets.length}`);
  }
  return `${platforms.length + 1} packages, with ${real.length} real binaries and ${platforms.length - real.length} stubs`;
}

/** Manifests, licences and contents. @param {string} dist */
function examined(dist) {
  const tarballs = readdirSync(dist).map((name) => join(dist, name));
  for (const file of tarballs) {
    const files = entries(file);
    const lacking = ["LICENSE", "NOTICE.md", "THIRD-PARTY.md"].filter((name) => !files.includes(`package/${name}`));
    if (lacking.length > 0) {
      throw new Error(`${basename(file)} lacks ${lacking.join(", ")}`);
    }
    const foreign = files.filter((name) =>
      /(^|\/)(__test__|target|node_modules|crates|\.env)|\.(rs|spec\.ts)$/.test(name),
    );
    if (foreign.length > 0) {
      throw new Error(`${basename(file)} has ${foreign[0]}, which it need not have`);
    }
  }
  const [size, compressed] = binarySize(tarballs);
  if (size > largestBinary || compressed > largestCompressed) {
    throw new Error(`the binary has ${megabytes(size)} MB, compressed ${megabytes(compressed)}`);
  }
  const lacking = origins.filter((key) => manifestOf(/** @type {string} */ (tarballs[0]))[key] === undefined);
  const origin = lacking.length > 0 ? `; package.json lacks ${lacking.join(", ")}: no release without` : "";
  return `licences and contents are right; binary ${megabytes(size)} MB, compressed ${megabytes(compressed)}${origin}`;
}

/** @param {string[]} tarballs @returns {[number, number]} bytes of the largest binary, plain and compressed */
function binarySize(tarballs) {
  const largest = tarballs.sort((a, b) => statSync(b).size - statSync(a).size)[0] ?? "";
  const binary = entries(largest).find((name) => name.endsWith(".node")) ?? "";
  const { stdout } = spawnSync("tar", ["-xOzf", largest, binary], { maxBuffer: 1e9 });
  return [stdout.length, gzipSync(stdout).length];
}

/**
 * Publishes as the workflow does, again after each failure.
 * @param {string} dist
 * @param {string} work
 * @param {Registry} registry
 */
async function published(dist, work, { url, token, taken }) {
  const npmrc = join(work, "npmrc");
  writeFileSync(npmrc, `registry=${url}\n${token}`);
  const env = { ...process.env, npm_config_userconfig: npmrc, npm_config_registry: url };
  const count = readdirSync(dist).length;
  withOrigin(dist);
  for (let tries = 1; tries <= count + 1; tries++) {
    const { code, stderr } = await run(process.execPath, [join(root, "scripts", "publish.js"), dist], work, env);
    if (code === 0) {
      return `${taken.length} packages in ${tries} runs, ${taken.at(-1)} last`;
    }
    if (taken.length !== tries - 1) {
      throw new Error(stderr.trim());
    }
  }
  throw new Error(`${taken.length} of ${count} packages after ${count + 1} runs`);
}

/** Says where the packages come from, in their tarballs, if `package.json` does not say it yet. @param {string} dist */
function withOrigin(dist) {
  for (const name of readdirSync(dist)) {
    const file = join(dist, name);
    const folder = join(dirname(dist), "origin", name);
    mkdirSync(folder, { recursive: true });
    spawnSync("tar", ["-xzf", file, "-C", folder]);
    const manifest = join(folder, "package", "package.json");
    const stand = Object.fromEntries(origins.map((key) => [key, "https://example.org/palimpsest"]));
    writeFileSync(manifest, JSON.stringify({ ...stand, ...manifestOf(file) }));
    spawnSync("tar", ["-czf", file, "-C", folder, "package"]);
  }
}

/**
 * Installs the package in an empty folder and runs the README's script there.
 * @param {string} work
 * @param {Registry} registry
 * @param {string} manager
 * @param {string} node
 */
async function installed(work, { url }, manager, node) {
  const [name = ""] = manager.split("@");
  const folder = join(work, `${name}-${basename(dirname(dirname(node)))}-${Date.now()}`);
  mkdirSync(folder);
  const env = {
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    HOME: folder,
    npm_config_cache: join(folder, "cache"),
  };
  let program = "npm";
  if (name !== "npm") {
    const tools = join(work, "tools");
    const fetched = await run(
      "npm",
      ["install", "--prefix", tools, "--foreground-scripts", manager],
      work,
      process.env,
    );
    program = join(tools, "node_modules", ".bin", name);
    if (fetched.code !== 0 || !existsSync(program)) {
      throw new Error(`${manager} could not be fetched`);
    }
  }
  writeFileSync(join(folder, "package.json"), '{ "name": "app", "version": "1.0.0" }');
  writeFileSync(join(folder, ".npmrc"), `registry=${url}\n`);
  // The README's script: a test holds that it is this file.
  copyFileSync(join(root, "__test__", "readme-example.ts"), join(folder, "app.mjs"));
  const added = await run(
    program,
    [name === "npm" ? "install" : "add", "palimpsest", `--registry=${url}`],
    folder,
    env,
  );
  if (added.code !== 0) {
    throw new Error(`install failed: ${(added.stderr || added.stdout).trim()}`);
  }
  const runner = name === "bun" ? program : node;
  const { code, stdout, stderr } = await run(runner, ["app.mjs"], folder, env);
  if (code !== 0 || !stdout.includes("96 passed")) {
    throw new Error(`the script of README.md failed: ${(stderr || stdout).trim()}`);
  }
  return "installed; the README's script printed what it should";
}

/** @param {Registry} registry */
async function piInstalled({ url }) {
  const model = await startScriptedModel([{ text: "ok" }]);
  const sandbox = createSandbox({ baseUrl: model.baseUrl });
  try {
    const env = {
      npm_config_registry: url,
      npm_config_cache: join(sandbox.dir, "cache"),
      PATH: process.env.PATH ?? "",
    };
    const added = await runPi(sandbox, ["install", "npm:palimpsest"], { env, deadlineMs: 120_000 });
    const answered = await runPi(sandbox, ["-p", "hi"], { env });
    const tools = JSON.stringify(model.requests[0]?.body ?? {}).includes('"activate"');
    if (added.code !== 0 || answered.code !== 0 || answered.stderr !== "" || !tools) {
      throw new Error(added.stderr || answered.stderr || "the model was offered no tool of ours");
    }
    return "installed; a session had its tools";
  } finally {
    await model.close();
    sandbox.remove();
  }
}

/** @param {string} tarball */
function entries(tarball) {
  return spawnSync("tar", ["-tzf", tarball], { encoding: "utf8" }).stdout.trimEnd().split("\n");
}

/** @param {number} bytes */
function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1);
}

/**
 * Runs a command beside the registry, which this process serves.
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
function run(command, args, cwd, env) {
  const child = spawn(command, args, { cwd, env, shell: process.platform === "win32" });
  const texts = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (part) => {
    texts.stdout += part;
  });
  child.stderr.setEncoding("utf8").on("data", (part) => {
    texts.stderr += part;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...texts }));
  });
}
