// What a file of the store is on disk now. Reads the file to compare it, and shows nothing of it.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { Turns } from "./recent.js";

/**
 * @import { Settings, Version } from "../../index.js"
 * @import { ObjectView } from "../protocol.js"
 */

/** How long a disk has to answer, in milliseconds; and the largest file that is read. */
const patienceMs = 2_000;
const mostBytes = 1 << 28;

/** Few looks at a time: each that a disk leaves waiting keeps one of the four threads that look at files for the whole process. */
const turns = new Turns(2);

/**
 * @param {Version} version the newest
 * @param {Partial<Settings>} settings by which a file of another file system has a place here
 * @param {(path: string) => Promise<string>} find the ID of the file that this machine has at a path
 * @returns {Promise<ObjectView["disk"]>}
 */
export async function diskState({ id, type, source, sourceHash }, settings, find) {
  const path = type === "file" && typeof source?.path === "string" ? await placeHere(id, source, settings, find) : null;
  if (path === null) {
    return null;
  }
  const abort = AbortSignal.timeout(patienceMs);
  const silent = new Promise((resolve) => abort.addEventListener("abort", () => resolve("unreadable")));
  const state = await Promise.race([turns.take(() => compared(path, sourceHash, abort)), silent]);
  return { path, state: /** @type {NonNullable<ObjectView["disk"]>["state"]} */ (state) };
}

/**
 * @param {string} id
 * @param {NonNullable<Version["source"]>} source
 * @param {Partial<Settings>} settings
 * @param {(path: string) => Promise<string>} find
 */
async function placeHere(id, { filesystemId, path = "" }, { mounts = [] }, find) {
  const isWithin = (/** @type {string} */ prefix) =>
    path === prefix || path.startsWith(`${prefix.replace(/\/$/, "")}/`);
  const fitting = mounts.filter(
    (mount) => isWithin(mount.canonicalPrefix) && (mount.filesystemId ?? filesystemId) === filesystemId,
  );
  const [mount] = fitting.sort((a, b) => b.canonicalPrefix.length - a.canonicalPrefix.length);
  if (mount !== undefined) {
    return `${mount.clientPrefix ?? mount.canonicalPrefix}${path.slice(mount.canonicalPrefix.length)}`;
  }
  // A file of another machine, or of a sandbox, may have a namesake here.
  return (await find(path).catch(() => null)) === id ? path : null;
}

/**
 * @param {string} path
 * @param {string | null} hash
 * @param {AbortSignal} signal
 */
async function compared(path, hash, signal) {
  try {
    signal.throwIfAborted();
    const { size, isFile } = await lstat(path).then((stats) => ({ size: stats.size, isFile: stats.isFile() }));
    if (!isFile || size > mostBytes) {
      return "unreadable";
    }
    const digest = createHash("sha256");
    await pipeline(createReadStream(path), digest, { signal });
    return digest.digest("hex") === hash ? "same" : "changed";
  } catch (error) {
    return /** @type {{ code?: unknown }} */ (error).code === "ENOENT" ? "missing" : "unreadable";
  }
}
