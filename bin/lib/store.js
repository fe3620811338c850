// The store that a command works on: found as the Pi extension finds it, opened, and closed after the work.
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPackage } from "../../lib/load.js";
import { writeError } from "./output.js";

/**
 * @typedef {import("../../index.js").Store} Store
 * @typedef {import("./arguments.js").Given} Given
 */

/**
 * Opens the store, runs work on it and closes it.
 * @template T
 * @param {Given} given
 * @param {(store: Store) => Promise<T>} work
 * @param {{ create?: boolean }} [options] whether a store that does not exist is made; not by default
 * @returns {Promise<T>}
 */
export async function withStore(given, work, { create = false } = {}) {
  const addon = await loadPackage();
  const store = await addon.openStore({ ...(await storeOptions(given)), create });
  if (store.notice !== null) {
    await writeError(`palimpsest: ${store.notice}\n`);
  }
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/**
 * The ID of the object with a name. Of a session, the type at the start of its ID may be missing, as in the list of sessions.
 * @param {Store} store
 * @param {string} name
 */
export async function findObject(store, name) {
  try {
    return await store.find(name);
  } catch (error) {
    const found = isUnknown(error) ? await store.find(`session:${name}`).catch(ifUnknown) : undefined;
    if (found === undefined) {
      throw error;
    }
    return found;
  }
}

/** The option of commands that take a NAME, which may then be a handle. @type {import("./arguments.js").Option} */
export const handleOption = {
  type: "string",
  value: "SESSION",
  text: "NAME is a handle of this session, such as t17, f3 or s2",
};

/**
 * The name that was given; with `--session`, the ID behind a handle of that session in its place.
 * @param {Store} store
 * @param {Given} given
 */
export async function givenName(store, given) {
  const [name] = given.positionals;
  const session = given.values.session;
  if (typeof session !== "string") {
    return name;
  }
  const [, handle, version] = /^([^@]*)(@.*)?$/.exec(name) ?? [];
  return `${await store.findHandle(session, handle ?? name)}${version ?? ""}`;
}

/** @param {unknown} error */
function isUnknown(error) {
  return /** @type {{ code?: unknown } | null} */ (error)?.code === "UNKNOWN_NAME";
}

/** @param {unknown} error */
function ifUnknown(error) {
  if (isUnknown(error)) {
    return undefined;
  }
  throw error;
}

/**
 * Path of the store, for commands that do not open it.
 * @param {Given} given
 */
export async function storePath(given) {
  const addon = await loadPackage();
  return addon.storePath(await storeOptions(given));
}

/** @param {Given} given */
async function storeOptions(given) {
  const { loadSettings } = await loadPackage();
  const agentDir = piAgentDir();
  return { path: given.store, settings: await loadSettings({ agentDir }), agentDir };
}

/** Pi's agent folder, found as Pi finds it (`getAgentDir` of Pi 0.87.1). */
export function piAgentDir() {
  const given = process.env.PI_CODING_AGENT_DIR;
  if (!given) {
    return join(homedir(), ".pi", "agent");
  }
  if (given === "~") {
    return homedir();
  }
  if (given.startsWith("~/") || (process.platform === "win32" && given.startsWith("~\\"))) {
    return join(homedir(), given.slice(2));
  }
  return given.startsWith("file://") ? fileURLToPath(given) : given;
}
