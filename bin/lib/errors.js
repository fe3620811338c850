// Errors of the command line: message and hint apart, the JSON form, and exit codes.
import { writeError, writeJson } from "./output.js";
import { oneLine } from "./table.js";

/** Codes of the addon that mean: what was asked for is not there, or is not one thing. */
const notFound = ["NOT_FOUND", "UNKNOWN_NAME", "AMBIGUOUS_NAME"];

/**
 * 0 done, 1 an error, 2 wrong usage, 3 not found.
 * @param {unknown} error
 * @returns {number}
 */
export function exitCode(error) {
  const { code } = coded(error);
  if (code === "USAGE") {
    return 2;
  }
  return notFound.includes(code) ? 3 : 1;
}

/**
 * Prints an error: a JSON document on stdout where one was asked for, else lines on stderr.
 * @param {unknown} error
 * @param {boolean} json
 */
export async function printError(error, json) {
  const { code, message, hint, candidates } = coded(error);
  if (json) {
    await writeJson({ error: { code, message, hint: hint ?? null, ...(candidates && { candidates }) } });
    return;
  }
  const lines = [`palimpsest: ${code === "INTERNAL" ? message : oneLine(message)}`];
  if (hint !== undefined) {
    lines.push(`hint: ${hint}`);
  }
  await writeError(lines.map((line) => `${line}\n`).join(""));
}

/**
 * @param {unknown} error
 * @returns {{ code: string, message: string, hint?: string, candidates?: string[] }}
 */
function coded(error) {
  const { code, message, hint, candidates } = /** @type {Partial<import("../../index.js").PalimpsestError>} */ (
    error ?? {}
  );
  if (typeof code === "string" && typeof message === "string") {
    return { code, message, hint, candidates };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: "INTERNAL", message: text, hint: "please report this with the text of the error" };
}
