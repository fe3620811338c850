// Errors of the command line: message and hint in its words, their JSON form, and exit codes.
import { shellWord, withTyped } from "../../lib/program.js";
import { writeError, writeJson } from "./output.js";
import { handleOption } from "./store.js";
import { oneLine } from "./table.js";

/**
 * What was asked for when an error came: the command, its first argument as it was given, `--session` and `--store`.
 * @typedef {{ command: import("./arguments.js").Command, name: string | undefined, session: string | undefined, store: string | undefined }} Asked
 */

/** Codes of the addon that mean that what was typed cannot be. */
const wrongUsage = ["USAGE", "INVALID_ARGUMENT", "INVALID_NICKNAME", "UNKNOWN_FIELD"];

/** Codes of the addon that mean that a name stands for nothing, or for several things. */
const notFound = ["NOT_FOUND", "UNKNOWN_NAME", "AMBIGUOUS_NAME", "NO_OPERATION", "NO_PAGE", "NO_TRACE"];

/**
 * 0 done, 1 an error, 2 wrong usage, 3 not found.
 * @param {unknown} error
 * @returns {number}
 */
export function exitCode(error) {
  const { code } = coded(error);
  if (wrongUsage.includes(code)) {
    return 2;
  }
  return notFound.includes(code) ? 3 : 1;
}

/**
 * Prints an error: a JSON document on stdout with --json, else lines on stderr.
 * @param {unknown} error
 * @param {boolean} json
 * @param {Asked} [asked]
 */
export async function printError(error, json, asked) {
  const { code, candidates, causes, ...said } = coded(error);
  const { message, hint } = asked === undefined ? said : inWordsOf(asked, code, said);
  if (json) {
    const more = { ...(candidates && { candidates }), ...(causes.length > 0 && { causes }) };
    await writeJson({ error: { code, message, hint: hint ?? null, ...more } });
    return;
  }
  const lines = [`palimpsest: ${code === "INTERNAL" ? message : oneLine(message)}`];
  // What the message says already, and what the system says of a file that is not there, adds nothing.
  const telling = causes.filter(
    (cause) =>
      !message.endsWith(`: ${cause}`) && !(message.endsWith(": there is no such file") && /^No such file/.test(cause)),
  );
  lines.push(...telling.map((cause) => `caused by: ${oneLine(cause)}`));
  if (hint !== undefined) {
    lines.push(`hint: ${hint}`);
  }
  await writeError(lines.map((line) => `${withTyped(line, asked?.store)}\n`).join(""));
}

/**
 * The addon speaks of IDs, of arguments of its methods and of handles. Here a person typed a name and options.
 * @param {Asked} asked
 * @param {string} code
 * @param {{ message: string, hint?: string }} said
 */
function inWordsOf({ command, name, session }, code, { message, hint }) {
  // What memory takes is no object.
  if (code === "UNKNOWN_NAME" && command.name !== "memory") {
    return { message, hint: howToName(command, message, session) };
  }
  if (code === "STORE_UNAVAILABLE" && message.includes(" when it is opened for writing")) {
    return { message, hint: "`palimpsest search` and every session bring it up to date" };
  }
  if (code === "NOT_FOUND" && name !== undefined && message.includes(" has no version ")) {
    const shown = name.replace(/@[^@]*$/, "");
    return {
      message: message.replace(/^object `[^`]*`/, () => `\`${shown}\``),
      hint: `\`palimpsest history ${shellWord(shown)}${session === undefined ? "" : ` --session ${shellWord(session)}`}\` lists its versions`,
    };
  }
  if (code === "INVALID_ARGUMENT") {
    const inOptions = message.replace(/^`(\w+)`/, (all, argument) => typed(command, argument) ?? all);
    return { message: name === undefined ? inOptions : inOptions.replace(/`[0-9a-f]{64}`/, () => `\`${name}\``), hint };
  }
  return { message, hint };
}

/** What arguments of the addon's methods are called on the command line, if not by their own name. @type {Record<string, string>} */
const argumentNames = {
  from: "A",
  to: "B",
  query: "TEXT",
  handle: "NAME",
  name: "NAME",
  nickname: "NICKNAME",
  path: "FILE",
  scope: "SCOPE",
  text: "TEXT",
};

/**
 * An argument as it is typed.
 * @param {import("./arguments.js").Command} command
 * @param {string} argument of a method of the addon
 */
function typed({ options, usage, notes = [] }, argument) {
  const kebab = argument.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const option = [kebab, kebab.replace(/s$/, "")].find((name) => name in options);
  if (option !== undefined) {
    return `\`--${option}\``;
  }
  const name = argumentNames[argument];
  return name !== undefined && new RegExp(`\\b${name}\\b`).test([usage, ...notes].join(" "))
    ? `\`${name}\``
    : undefined;
}

/**
 * @param {import("./arguments.js").Command} command
 * @param {string} message
 * @param {string | undefined} session
 */
function howToName({ usage, options }, message, session) {
  if (session !== undefined) {
    const handles = options.session === handleOption ? ", `palimpsest context SESSION --why` the handles of one" : "";
    return `\`palimpsest sessions\` lists the sessions${handles}`;
  }
  if (/`[fts]\d+(@[^`]*)?`$/.test(message)) {
    return options.session === handleOption
      ? "a handle is one of a session: name that with `--session`, such as `--session latest`"
      : "handles exist only inside a session: `palimpsest context SESSION --why` has the IDs and paths that they stand for";
  }
  return /^(PART )?\[?SESSION/.test(usage)
    ? "`palimpsest sessions` lists the sessions"
    : "use its path, ID or nickname; `palimpsest objects` lists all objects, `palimpsest search` finds them";
}

/**
 * @param {unknown} error
 * @returns {{ code: string, message: string, hint?: string, candidates?: string[], causes: string[] }}
 */
function coded(error) {
  const { code, message, hint, candidates, report } = /** @type {Partial<import("../../index.js").PalimpsestError>} */ (
    error ?? {}
  );
  if (typeof code === "string" && typeof message === "string") {
    const causes = [...(report ?? "").matchAll(/^ {2}caused by: (.*)$/gm)].map(([, cause]) => cause);
    return { code, message, hint, candidates, causes };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: "INTERNAL", message: text, hint: "please report this with the text of the error", causes: [] };
}
