// What stands in the way of a session on this machine, as `palimpsest doctor` finds it: a folder that cannot be written, a disk that is
// full, names of our tools that another extension of Pi has. Only reads.
import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { name as spelt } from "../../lib/terminal.js";
import { prefixedNames } from "../../lib/tool-names.js";
import { byteSize } from "../../lib/words.js";

/** @import { Finding } from "./installation.js" */

/** With less space a session may not be able to store what it does. */
const leastBytes = 50_000_000;

/** Larger files are not read. */
const mostBytes = 10_000_000;

/** What is asked of the system. */
const system = {
  /** @param {string} folder */
  free: (folder) => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  },
  /** Throws where it may not. @param {string} folder */
  write: (folder) => accessSync(folder, constants.W_OK | constants.X_OK),
};

/**
 * What keeps a session from writing into folders, which need not exist yet.
 * @param {string[]} folders
 * @param {typeof system} [asked]
 * @returns {Finding[]}
 */
export function folderFindings(folders, asked = system) {
  const existing = [...new Set(folders.map(nearest))];
  return existing.flatMap((folder) => {
    if (!statSync(folder).isDirectory()) {
      return [found(`\`${spelt(folder)}\` is not a folder, so nothing can be stored in it`, "move it away")];
    }
    try {
      asked.write(folder);
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      const why = code === "EROFS" ? "its disk is read-only" : "you may not";
      return [
        found(`nothing can be written into \`${spelt(folder)}\`: ${why}`, "make it writable, or name another folder"),
      ];
    }
    const free = asked.free(folder);
    return free < leastBytes
      ? [
          found(
            `the disk of \`${spelt(folder)}\` is full: ${byteSize(free)} are free`,
            "make room; sessions go on unstored",
          ),
        ]
      : [];
  });
}

/** A path, or what is nearest above it where it does not exist. @param {string} path @returns {string} */
function nearest(path) {
  return existsSync(path) || path === dirname(path) ? path : nearest(dirname(path));
}

/** @param {string} problem @param {string} advice @returns {Finding} */
function found(problem, advice) {
  return { kind: "disk", problem, advice };
}

/**
 * The extensions of Pi that have a tool by one of the names which ours take where the short ones are taken: there we are off.
 * @param {string} agentDir
 * @returns {Finding[]}
 */
export function nameFindings(agentDir) {
  const files = [join(agentDir, "extensions"), resolve(".pi", "extensions")].flatMap(extensionsIn);
  return files.flatMap((file) => {
    const text = textIn(file);
    const taken = prefixedNames.find((name) => new RegExp(`["'\`]${name}["'\`]`).test(text));
    const problem = `the extension \`${spelt(file)}\` has a tool \`${taken}\`, a name of ours: beside it Palimpsest is off`;
    return taken === undefined ? [] : [{ kind: /** @type {const} */ ("pi"), problem, advice: "rename its tool" }];
  });
}

/** The files that Pi loads from a folder of extensions. @param {string} folder */
function extensionsIn(folder) {
  const entries = readable(() => readdirSync(folder), []);
  const files = entries.flatMap((name) => [name, join(name, "index.ts"), join(name, "index.js")]);
  return files.map((name) => join(folder, name)).filter((file) => /\.[jt]s$/.test(file) && isFile(file));
}

/**
 * The text of a file that a project may have brought; empty where that has no end, as a pipe or a device, or cannot be read.
 * @param {string} file
 */
export function textIn(file) {
  return readable(() => (isFile(file) && statSync(file).size <= mostBytes ? readFileSync(file, "utf8") : ""), "");
}

/** @param {string} path */
function isFile(path) {
  return readable(() => statSync(path).isFile(), false);
}

/**
 * What is read, or something else where that cannot be read: Pi does not load it either.
 * @template Found
 * @param {() => Found} read
 * @param {Found} otherwise
 */
function readable(read, otherwise) {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
