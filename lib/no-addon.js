// What is said where the native addon is missing or does not load: one line, and what to do. The generated loader blames npm in any
// case. Must not load anything.
import { existsSync } from "node:fs";
import { join } from "node:path";

/** As `engines` of package.json has it. */
const oldestNode = "22.19";

/** What the generated loader says of a platform's package of another version. */
const mismatch = /version mismatch, expected (\S+) but got (\S+?)\. /;

/**
 * @typedef {object} Package
 * @property {string} folder
 * @property {Record<string, string>} [optionalDependencies] in a published package: one with the binary for each platform
 */

/**
 * The error for users in the place of the generated loader's, which has one cause for each file that was tried.
 *
 * @param {unknown} error
 * @param {Package} here
 * @returns {Error & { code: "NO_ADDON", hint: string }}
 */
export function withoutAddon(error, here) {
  const { message, hint } = explained(error, here);
  return Object.assign(new Error(message, { cause: error }), { code: /** @type {const} */ ("NO_ADDON"), hint });
}

/**
 * @param {unknown} error
 * @param {Package} here
 */
function explained(error, { folder, optionalDependencies = {} }) {
  const isClone = existsSync(join(folder, "Cargo.toml"));
  const build = `run \`npm install\` and \`npm run build\` in \`${folder}\``;
  const machine = `${process.platform} ${process.arch}`;
  const wanted = `palimpsest-${platform()}`;
  if (!isClone && isOlder(process.versions.node, oldestNode)) {
    // npm leaves the platform's package out there, without a word. A clone's own binary loads.
    return {
      message: `Node ${process.versions.node} is too old: palimpsest needs Node ${oldestNode} or later`,
      hint: "install a newer Node, then palimpsest again",
    };
  }
  const given = process.env.NAPI_RS_NATIVE_LIBRARY_PATH;
  if (given) {
    // The generated loader tries nothing else then.
    const problem = causes(error).at(-1) ?? "it cannot be loaded";
    return {
      message: `\`NAPI_RS_NATIVE_LIBRARY_PATH\` names \`${given}\`, which is not palimpsest's native addon: ${problem}`,
      hint: "unset the variable, then start again",
    };
  }
  const [, expected, found] =
    causes(error)
      .map((message) => mismatch.exec(message))
      .find(Boolean) ?? [];
  if (expected !== undefined) {
    return {
      message: `the package \`${wanted}\` is of version ${found}, and palimpsest is ${expected}`,
      hint: `install both again: \`npm install palimpsest@${expected}\``,
    };
  }
  const problem = causes(error).find((message) => !/^(Cannot find|Unsupported)/.test(message));
  if (problem !== undefined) {
    const again = "install palimpsest again; if that does not help, build it from a clone";
    return { message: `the native addon for ${machine} does not load: ${problem}`, hint: isClone ? build : again };
  }
  if (isClone) {
    return { message: `the native addon for ${machine} is not built`, hint: build };
  }
  if (wanted in optionalDependencies) {
    return {
      message: `the package \`${wanted}\` with the native addon is not installed`,
      hint: "install palimpsest again, with optional dependencies: without `--omit=optional` and `--no-optional`",
    };
  }
  const known = Object.keys(optionalDependencies).map((name) => name.slice("palimpsest-".length));
  const platforms = known.length > 0 ? `there is one for ${known.join(", ")}; on other platforms ` : "";
  return { message: `there is no native addon for ${platform()}`, hint: `${platforms}build it from a clone` };
}

/** @param {string} version @param {string} than */
function isOlder(version, than) {
  const [[major, minor], [least, leastMinor = 0]] = [version, than].map((each) => each.split(".").map(Number));
  return major < least || (major === least && minor < leastMinor);
}

/** This platform as the packages with binaries name it. */
function platform() {
  const { platform: system, arch } = process;
  const library = { linux: isMusl() ? "-musl" : "-gnu", win32: "-msvc" }[/** @type {string} */ (system)];
  return `${system}-${arch}${library ?? ""}`;
}

/** Whether Node was built for musl: then it knows no version of glibc. */
function isMusl() {
  const report = /** @type {{ header: object }} */ (process.report.getReport());
  return !("glibcVersionRuntime" in report.header);
}

/**
 * The first lines of the errors that caused an error.
 * @param {unknown} error
 * @returns {string[]}
 */
function causes(error) {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? [cause.message.split("\n", 1)[0], ...causes(cause)] : [];
}
