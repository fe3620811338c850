// The native addon. One copy serves a process: two would hold two SQLite libraries that open the same files. The copies of a thread
// find each other, whatever their versions, by what the first one leaves here; so its shape must never change. Must not know what
// the addon does.
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

/**
 * @typedef {object} Copy
 * @property {string} version of the package
 * @property {string} folder of the package, canonical
 */

const { require, manifest } = own();
const registry = Symbol.for("palimpsest.addon");
/** Workers inherit what was set under this name before they started. */
const inherited = "palimpsest.addon";

/** @type {Copy} */
const here = {
  version: manifest.version,
  folder: realpathSync(dirname(dirname(fileURLToPath(import.meta.url)))),
};

/** The addon of the copy that serves this process: of the first one of this version. */
export const binding = served();

/** @returns {typeof import("../binding.js")} */
function served() {
  const global = /** @type {{ [registry]?: Copy & { binding: typeof import("../binding.js") } }} */ (globalThis);
  const first = global[registry];
  if (first !== undefined) {
    if (first.version !== here.version) {
      throw refused(first);
    }
    return first.binding;
  }
  // What a thread has loaded cannot be used in another one, unless it is the same file.
  const outer = /** @type {Copy | undefined} */ (getEnvironmentData(inherited));
  if (outer !== undefined && outer.folder !== here.folder) {
    throw refused(outer);
  }
  const own = native();
  Object.defineProperty(global, registry, { value: Object.freeze({ ...here, binding: own }) });
  setEnvironmentData(inherited, here);
  return own;
}

/**
 * What lies beside this file, which a bundler takes elsewhere.
 * @returns {{ require: NodeJS.Require, manifest: { name: string, version: string, optionalDependencies?: Record<string, string> } }}
 */
function own() {
  try {
    const require = createRequire(import.meta.url);
    const manifest = require("../package.json");
    if (manifest.name === "palimpsest") {
      return { require, manifest };
    }
  } catch {
    // No URL or no such file: bundled, too.
  }
  const hint =
    "mark `palimpsest` as external in the bundler, such as `--external:palimpsest`, and install it beside the bundle";
  throw Object.assign(new Error("palimpsest does not work inside a bundle: its addon and files stand beside it"), {
    code: "NO_ADDON",
    hint,
  });
}

/** @returns {typeof import("../binding.js")} */
function native() {
  const check = "NAPI_RS_ENFORCE_VERSION_CHECK";
  const before = process.env[check];
  try {
    // The generated loader refuses a platform's package of another version only where it is told so.
    process.env[check] = "1";
    const loaded = require("../binding.js");
    if (typeof loaded.openStore !== "function") {
      throw new Error("not loaded", { cause: new Error("it is another program's") });
    }
    return loaded;
  } catch (error) {
    /** @type {typeof import("./no-addon.js")} */
    const { withoutAddon } = require("./no-addon.js");
    throw withoutAddon(error, { folder: here.folder, optionalDependencies: manifest.optionalDependencies });
  } finally {
    if (before === undefined) {
      delete process.env[check];
    } else {
      process.env[check] = before;
    }
  }
}

/**
 * @param {Copy} first
 * @returns {Error & { code: string, hint: string }}
 */
function refused(first) {
  const message = `another copy of palimpsest serves this process: ${shown(first)}; this one is ${shown(here)}`;
  return Object.assign(new Error(message), { code: "OTHER_COPY", hint: "load one of them only" });
}

/** @param {Copy} copy */
function shown({ version, folder }) {
  return `${version} in \`${folder}\``;
}
