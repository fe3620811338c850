// A store whose indexes are brought up to date before it is read: in its file where that can be written, else in a copy. Must not write
// anything else.
import { constants, existsSync, rmSync } from "node:fs";
import { chmod, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, storePath } from "../index.js";

/** @import { Store, StoreOptions } from "../index.js" */

/**
 * Opens a store, runs work on it and closes it.
 * @template T
 * @param {StoreOptions} options
 * @param {(store: Store) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withRefreshed(options, work) {
  try {
    return await withWritten(options, work);
  } catch (error) {
    if (!isAboutWriting(error)) {
      throw error;
    }
    try {
      return await withCopy(options, work);
    } catch (second) {
      // Where no copy fits either, the store's own error says more.
      throw /** @type {{ code?: unknown } | null} */ (second)?.code === "ENOSPC" ? error : second;
    }
  }
}

/** Whether an error leaves the store readable. @param {unknown} error */
function isAboutWriting(error) {
  const { code } = /** @type {{ code?: unknown }} */ (error ?? {});
  return code === "READ_ONLY" || code === "NO_SPACE";
}

/**
 * The same without bringing anything up to date, and without a copy.
 * @template T
 * @param {StoreOptions} options
 * @param {(store: Store) => Promise<T>} work
 */
export async function withWritten(options, work) {
  return closing(await openStore({ ...options, create: false }), work);
}

/**
 * @template T
 * @param {StoreOptions} options
 * @param {(store: Store) => Promise<T>} work
 */
async function withCopy(options, work) {
  const original = await storePath(options);
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-"));
  // Whatever ends the process: the copy is a whole store.
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    const path = join(folder, "store.sqlite");
    for (const suffix of ["", "-wal"].filter((suffix) => existsSync(`${original}${suffix}`))) {
      await copyFile(`${original}${suffix}`, `${path}${suffix}`, constants.COPYFILE_FICLONE);
      await chmod(`${path}${suffix}`, 0o600);
    }
    return await closing(await openStore({ ...options, path, create: false }), work);
  } finally {
    process.off("exit", remove);
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * @template T
 * @param {Store} store
 * @param {(store: Store) => Promise<T>} work
 */
async function closing(store, work) {
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
