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

/**
 * What an error says to the page.
 * @param {unknown} error
 * @returns {Failure}
 */
export function failureOf(error) {
  const { code, message, hint } = /** @type {Partial<import("../../index.js").PalimpsestError>} */ (error ?? {});
  return { code: code ?? "INTERNAL", message: message ?? String(error), hint: hint ?? null };
}
