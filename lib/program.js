// How a person types a command of ours on this machine: what a host installed is often not on the path, and its store is not the one that
// the command line reads by itself.
import { existsSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Commands that look into no store. */
const storeless = new Set(["trust", "help"]);

/** The file that runs the command line. */
export const programFile = fileURLToPath(new URL("../bin/palimpsest.js", import.meta.url));

/**
 * A command as it can be typed: by its file where `palimpsest` is not on the path.
 * @param {string[]} words behind `palimpsest`
 * @param {string} [store] path of the store, where it is not the command line's own
 */
export function typed(words, store) {
  return typedText(words.map(shellWord).join(" "), words.includes("--store") ? undefined : store);
}

/** @param {string} words behind `palimpsest`, as they are typed @param {string} [store] */
function typedText(words, store) {
  const isReady = store === undefined || storeless.has(words.split(" ")[0]);
  return `${program()} ${words}${isReady ? "" : ` --store ${shellWord(store)}`}`;
}

/**
 * A text of ours whose commands can be typed.
 * @param {string} text
 * @param {string} [store]
 */
export function withTyped(text, store) {
  const made = (/** @type {string} */ words) =>
    typedText(words, /(^| )--(store|help)( |$)/.test(words) ? undefined : store);
  return text.replaceAll(/`palimpsest ([^`]+)`/g, (_, words) => `\`${made(words)}\``);
}

/** How the command line is called here: npx puts it on the path only while it runs. */
function program() {
  if (process.env.npm_command === "exec" && /^palimpsest(\.js)?$/.test(basename(process.argv[1] ?? ""))) {
    return "npx palimpsest";
  }
  return isOnPath() ? "palimpsest" : `node ${shellWord(programFile)}`;
}

function isOnPath() {
  const names = process.platform === "win32" ? ["palimpsest.cmd"] : ["palimpsest"];
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => names.some((name) => existsSync(join(folder, name))));
}

/** A word as a shell takes it. @param {string} word */
export function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
