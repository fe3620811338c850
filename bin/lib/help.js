// The texts of `--help`, made from what the commands declare.
import { readFileSync } from "node:fs";
import { commands } from "../commands.js";
import { sharedOptions } from "./arguments.js";

/** Columns of the narrowest terminal that is common. */
const lineWidth = 80;

/** The version of the package. */
export function version() {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return JSON.parse(manifest).version;
}

/** `palimpsest --help`: fits one screen. */
export function overview() {
  // The options of a command are listed in its own help.
  const plain = (/** @type {string} */ usage) => usage.replace(/ ?(\[|\| )--.*/, "");
  const rows = commands.map(
    ({ name, usage, summary }) => /** @type {const} */ ([`${name} ${plain(usage)}`.trim(), summary]),
  );
  return `palimpsest ${version()}: what your agents saw, cost and remember

Usage: palimpsest COMMAND [ARGUMENTS] [--json] [--store PATH]

${columns(rows)}

The NAME of an object is its ID, its nickname, its path, or at least the first
8 digits of its ID; NAME@12 and NAME@-1 name a version. A SESSION is its ID,
with or without \`session:\`, the host's session ID, the beginning of either, or
\`latest\`. The store is that of --store, PALIMPSEST_STORE or the setting
\`store\`, else palimpsest/store.sqlite in Pi's agent folder. Exit codes: 0 done,
1 error, 2 wrong usage, 3 not found. \`palimpsest COMMAND --help\` shows options.
`;
}

/**
 * `palimpsest COMMAND --help`.
 * @param {import("./arguments.js").Command} command
 */
export function commandHelp({ name, usage, summary, options, notes, json, examples }) {
  const rows = Object.entries({ ...options, ...sharedOptions }).map(
    ([option, { value, text }]) =>
      /** @type {const} */ ([`--${option}${value === undefined ? "" : ` ${value}`}`, text]),
  );
  const error =
    "{ error: { code: string, message: string, hint: string | null, candidates?: string[], causes?: string[] } }";
  const paragraphs = [
    wrapped(`palimpsest ${[name, usage].join(" ").trim()}`, { indent: 4 }),
    `${summary}.`,
    ...(notes ?? []).map((note) => wrapped(note)),
    `Options:\n${columns(rows)}`,
    [
      "With --json, by the types of index.d.ts:",
      wrapped(`  ${json}`, { indent: 4 }),
      "An error:",
      wrapped(`  ${error}`, { indent: 4 }),
    ].join("\n"),
    `${examples.length === 1 ? "Example" : "Examples"}:\n${examples.map((example) => `  ${example}`).join("\n")}`,
  ];
  return `${paragraphs.join("\n\n")}\n`;
}

/** @param {(readonly [string, string])[]} rows */
function columns(rows) {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => wrapped(`  ${left.padEnd(width)}  ${right}`, { indent: width + 4 })).join("\n");
}

/**
 * Text in lines of at most 80 columns; only those after the first are indented.
 * @param {string} text
 * @param {{ indent?: number }} [options]
 */
function wrapped(text, { indent = 0 } = {}) {
  const lines = [""];
  for (const word of text.split(/(?<=\S) (?=\S)/)) {
    const last = lines[lines.length - 1];
    if (last.trim() === "" || last.length + 1 + word.length <= lineWidth) {
      lines[lines.length - 1] = last.trim() === "" ? `${last}${word}` : `${last} ${word}`;
    } else {
      lines.push(`${" ".repeat(indent)}${word}`);
    }
  }
  return lines.join("\n");
}
