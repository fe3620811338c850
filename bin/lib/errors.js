// Errors of the command line: message and hint, their JSON form, and exit codes.
import { writeError, writeJson } from "./output.js";
import { oneLine } from "./table.js";

/** Codes of the addon that mean that a name stands for nothing, or for several things. */
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
 * Prints an error: a JSON document on stdout with --json, else lines on stderr.
 * @param {unknown} error
 * @param {boolean} json
 */
export async function printError(error, json) {
  const { code, message, hint, candidates, causes } = coded(error);
  if (json) {
    const more = { ...(candidates && { candidates }), ...(causes.length > 0 && { causes }) };
    await writeJson({ error: { code, message, hint: hint ?? null, ...more } });
    return;
  }
  const lines = [`palimpsest: ${code === "INTERNAL" ? message : oneLine(message)}`];
  lines.push(...causes.map((cause) => `caused by: ${oneLine(cause)}`));
  if (hint !== undefined) {
    lines.push(`hint: ${hint}`);
  }
  await writeError(lines.map((line) => `${line}\n`).join(""));
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
