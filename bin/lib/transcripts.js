// Finds the transcripts that a command line names. Does not read them.
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UsageError } from "./arguments.js";

const isTranscript = (/** @type {string} */ name) => /\.jsonl(\.gz)?$/.test(name);

/**
 * The given files, and the transcripts in the given folders, in order.
 * @param {string[]} given
 */
export async function transcripts(given) {
  const found = [];
  for (const path of given.map((path) => resolve(path))) {
    const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true;
    const inside = isFolder ? await readdir(path, { recursive: true }) : [];
    found.push(
      ...(isFolder
        ? inside
            .filter(isTranscript)
            .sort()
            .map((name) => join(path, name))
        : [path]),
    );
  }
  if (found.length === 0) {
    throw new UsageError("there is no transcript", "name files, or folders that hold *.jsonl or *.jsonl.gz");
  }
  return found;
}
