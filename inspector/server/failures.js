// What the page is told of an error. Knows no store and no request.

/** @import { Failure } from "../protocol.js" */

/** An error of the inspector's own, with a stable code. */
export class Refusal extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {string} [hint]
   */
  constructor(code, message, hint) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** What calls a method says where the class lacks it, as an addon of another version does. */
const lacksMethod = /\bstore\.(\w+) is not a function$/;

/**
 * What an error says to the page.
 * @param {unknown} error
 * @returns {Failure}
 */
export function failureOf(error) {
  const { code, message, hint } = /** @type {Partial<import("../../index.js").PalimpsestError>} */ (error ?? {});
  const [, lacking] = (error instanceof TypeError && lacksMethod.exec(error.message)) || [];
  return lacking === undefined
    ? { code: code ?? "INTERNAL", message: message ?? String(error), hint: hint ?? null }
    : {
        code: "OLD_ADDON",
        message: `the native addon is older than the inspector: its store has no \`${lacking}\``,
        hint: "install palimpsest again, or run `npm run build` in the clone; then start this again",
      };
}
