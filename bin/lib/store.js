// The store that a command works on: found as the Pi extension finds it, opened, and closed after the work.
import { existsSync } from "node:fs";
import { piAgentDir } from "../../lib/places.js";
import { writeError } from "./output.js";
import { oneLine } from "./table.js";

/**
 * @typedef {import("../../index.js").Store} Store
 * @typedef {import("./arguments.js").Given} Given
 */

/** Settings that say where the store is. */
const forStore = ["store"];

/** Settings by which a path stands for an object. */
export const forNames = ["filesystemId", "mounts", "sandbox"];

/** Settings by which files are stored. */
export const forFiles = [...forNames, "maxTextBytes", "exclude", "excludeAlso"];

/** Settings that say where the shared store is, and what of a store stays here. */
export const forSharing = [
  "xtdbUrl",
  "xtdbTokenFile",
  "xtdbCaFile",
  "shareSessions",
  "shareAs",
  "exclude",
  "excludeAlso",
];

/**
 * What a command does to the store: `read` leaves every file as it is; `refresh` reads too, but first brings the store's indexes up to
 * date, in a copy where the store cannot be written; `write` changes it, and `create` makes one that is not there.
 * @typedef {"read" | "refresh" | "write" | "create"} Access
 */

/**
 * Opens the store, runs work on it and closes it.
 * @template T
 * @param {Given} given
 * @param {(store: Store) => Promise<T>} work
 * @param {{ access?: Access, needed?: string[] }} [options] `needed`: the settings that the work depends on, beside the store's place
 * @returns {Promise<T>}
 */
export async function withStore(given, work, { access = "read", needed = [] } = {}) {
  const options = await storeOptions(given, needed);
  if (access !== "create") {
    await requireStore(given, options);
  }
  const run = async (/** @type {Store} */ store) => {
    if (store.notice !== null) {
      await writeError(`palimpsest: ${store.notice}\n`);
    }
    return work(store);
  };
  if (access === "refresh") {
    const { withRefreshed } = await import("../../lib/refreshed.js");
    return withRefreshed(options, run);
  }
  const { openStore } = await import("../../index.js");
  const store = await openStore(
    access === "read" ? { ...options, readOnly: true } : { ...options, create: access === "create" },
  );
  try {
    return await run(store);
  } finally {
    await store.close();
  }
}

/**
 * The ID of the object with a name, which may be any name of a session too.
 * @param {Store} store
 * @param {string} name
 */
export async function findObject(store, name) {
  try {
    return await store.find(name);
  } catch (error) {
    const session = codeOf(error) === "UNKNOWN_NAME" ? await findSession(store, name) : undefined;
    if (session === undefined) {
      throw error;
    }
    return session;
  }
}

/**
 * The session with a name. Fewer than eight characters of its ID name none here, where most names are those of other objects.
 * @param {Store} store
 * @param {string} name
 */
async function findSession(store, name) {
  const short = name.replace(/^session:/, "").length < shortestPrefix;
  try {
    const id = await store.findSession(name);
    return short && name !== "latest" && !(await isWhole(store, id, name)) ? undefined : id;
  } catch (error) {
    if (codeOf(error) === "UNKNOWN_NAME" || (short && codeOf(error) === "AMBIGUOUS_NAME")) {
      return undefined;
    }
    throw error;
  }
}

/** Characters of the shortest prefix of an ID that names an object. */
const shortestPrefix = 8;

/**
 * Whether a name is the whole of a session's ID or of the host's.
 * @param {Store} store
 * @param {string} id
 * @param {string} name
 */
async function isWhole(store, id, name) {
  const { fields } = await store.get(id);
  return id === name || id === `session:${name}` || fields.host_session === name;
}

/** The option of commands that take a NAME, which may then be a handle. @type {import("./arguments.js").Option} */
export const handleOption = {
  type: "string",
  value: "SESSION",
  text: "NAME is a handle of this session, such as t17, f3 or s2",
};

/**
 * The name that was given, as the store takes it: with `--session`, the ID behind a handle of that session in its place; of a session,
 * its ID.
 * @param {Store} store
 * @param {Given} given
 */
export async function givenName(store, given) {
  const [name] = given.positionals;
  const session = given.values.session;
  if (typeof session === "string") {
    return store.findHandle(session, name);
  }
  const [, plain = name, version = ""] = /^(.*?)(@[^@]*)?$/s.exec(name) ?? [];
  try {
    // It may be the name of lines, which `find` refuses.
    await store.get(name);
    return name;
  } catch (error) {
    if (codeOf(error) !== "UNKNOWN_NAME") {
      throw error;
    }
    const whole = await findSession(store, name);
    const found = whole ?? (await findSession(store, plain));
    if (found === undefined) {
      throw error;
    }
    return whole ?? `${found}${version}`;
  }
}

/**
 * @param {unknown} error
 * @returns {unknown}
 */
function codeOf(error) {
  return /** @type {{ code?: unknown } | null} */ (error)?.code;
}

/**
 * Path of the store, for commands that do not open it.
 * @param {Given} given
 */
export async function storePath(given) {
  const addon = await import("../../index.js");
  return addon.storePath(await storeOptions(given, [], true));
}

/**
 * The settings that a command needs, where a wrong one of the others does not stop it.
 * @param {string[]} needed
 * @param {boolean} [isSaid] whether somebody else says which is wrong
 * @returns {Promise<Partial<import("../../index.js").Settings>>}
 */
export async function settingsFor(needed, isSaid = false) {
  const { loadSettings } = await import("../../index.js");
  const agentDir = piAgentDir();
  try {
    return await loadSettings({ agentDir });
  } catch (error) {
    const settings = needed.length === 0 ? {} : await loadSettings({ agentDir, needed });
    const { message } = /** @type {Error} */ (error);
    await (isSaid ? undefined : writeError(`palimpsest: ${oneLine(message)}; this command does not need it\n`));
    return settings;
  }
}

/**
 * @param {Given} given
 * @param {string[]} needed
 * @param {boolean} [isSaid] as above
 */
async function storeOptions(given, needed, isSaid) {
  const isPlaced = given.store !== undefined || process.env.PALIMPSEST_STORE !== undefined;
  const settings = await settingsFor(isPlaced ? needed : [...forStore, ...needed], isSaid);
  return { path: given.store, settings, agentDir: piAgentDir() };
}

/**
 * Says what to do first where nobody named a store and there is none yet.
 * @param {Given} given
 * @param {Awaited<ReturnType<typeof storeOptions>>} options
 */
async function requireStore(given, options) {
  if (given.store !== undefined || process.env.PALIMPSEST_STORE !== undefined || options.settings.store != null) {
    return;
  }
  const { storePath } = await import("../../index.js");
  if (!existsSync(await storePath(options))) {
    throw Object.assign(new Error("there is no session yet"), {
      code: "STORE_UNAVAILABLE",
      hint: "start Pi with Palimpsest first, or name a store with `--store`",
    });
  }
}
