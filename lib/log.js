// The log file of a harness: failures, and at a lower level what was done and how long it took. Nothing in this file throws or
// rejects. Must not decide what is worth logging.
import { constants } from "node:fs";
import { mkdir, open, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { homeFolder } from "./places.js";

/**
 * @typedef {"error" | "info" | "debug"} Level what is written: `error` failures, `info` also what a session begins with and what was
 *   slow, `debug` also how long each step took
 *
 * @typedef {object} Log
 * @property {string} file its path
 * @property {(level: Level) => boolean} writes whether lines of a level are written
 * @property {(level: Level, text: string) => Promise<void>} write resolves when the text is in the file, or could not be written
 */

/** Names the level, or `off`. */
export const levelVariable = "PALIMPSEST_LOG";
const levels = ["off", "error", "info", "debug"];
const defaultLevel = "error";

/** A file of this size is put aside. */
const maxBytes = 1_048_576;
/** Files that are kept beside the newest. */
const maxOld = 2;

/**
 * Opens the log `palimpsest.log` in a folder, which is made when something is written.
 *
 * @param {string} folder
 * @param {object} [options]
 * @param {(text: string) => string | Promise<string>} [options.withoutSecrets] takes secrets out of a text
 * @param {string} [options.level] default: `PALIMPSEST_LOG`, else `error`
 * @returns {Log & { wrongLevel?: string }} with `wrongLevel`, for the user, where the level is none; then it is `error`
 */
export function openLog(
  folder,
  { withoutSecrets = (text) => text, level = process.env[levelVariable] || defaultLevel } = {},
) {
  const file = join(folder, "palimpsest.log");
  const known = levels.includes(level);
  const most = levels.indexOf(known ? level : defaultLevel);
  /** @type {Log["writes"]} */
  const writes = (each) => levels.indexOf(each) <= most;
  let last = Promise.resolve();
  return {
    file,
    writes,
    write(each, text) {
      if (writes(each)) {
        const time = new Date().toISOString();
        const written = async () => append(file, `${time} ${each} ${forReports(await withoutSecrets(text))}\n`);
        last = last.then(written).catch(() => {});
      }
      return last;
    },
    ...(known ? {} : { wrongLevel: `\`${levelVariable}\` is \`${level}\`, which is none of ${levels.join(", ")}` }),
  };
}

/** As it may stand in a report: without the name of the user that the home folder has. @param {string} text */
function forReports(text) {
  const home = homeFolder();
  return home.length > 1 ? text.replaceAll(home, "~") : text;
}

/**
 * Appends to a file that is the user's alone. A link, and a file of another user or with another name, is left as it is.
 * @param {string} file
 * @param {string} text
 */
async function append(file, text) {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const log = await openOwn(file);
  if (log === undefined) {
    return;
  }
  try {
    await log.handle.appendFile(text);
  } finally {
    await log.handle.close();
  }
  if (log.bytes + Buffer.byteLength(text) > maxBytes) {
    await putAside(file, log.inode);
  }
}

/** @param {string} file */
async function openOwn(file) {
  const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_WRONLY } = constants;
  const handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  const found = await handle.stat();
  const isOurs = found.uid === (process.geteuid?.() ?? found.uid);
  if (!found.isFile() || found.nlink !== 1 || !isOurs) {
    await handle.close();
    return undefined;
  }
  await handle.chmod(0o600);
  return { handle, bytes: found.size, inode: found.ino };
}

/**
 * Makes room for a new file. Another process may have done so just now.
 * @param {string} file
 * @param {number} inode of the file that is too long
 */
async function putAside(file, inode) {
  if ((await stat(file)).ino !== inode) {
    return;
  }
  for (let number = maxOld; number > 0; number--) {
    await rename(number === 1 ? file : `${file}.${number - 1}`, `${file}.${number}`).catch(() => {});
  }
}
