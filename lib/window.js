// What a request consists of, by kind of content, for people.

/** @typedef {import("../index.js").RecordedCall} RecordedCall */

/**
 * The kinds, in the order in which they are shown.
 * @typedef {"prompt" | "person" | "model" | "outputs" | "lines" | "rest"} Kind
 */

/**
 * Tokens of a recorded call by kind of content, by our count. `prompt`: system prompt and tools. `person`, `model`: what they wrote,
 * the model's calls included. `outputs`: tool results, whole or in part. `lines`: results for which a line stands. `rest`: everything else,
 * such as summaries and messages of ours.
 * @param {Pick<RecordedCall, "messages" | "about" | "promptTokens">} call
 * @returns {Record<Kind, number>}
 */
export function windowParts({ messages, about, promptTokens }) {
  /** @type {Record<Kind, number>} */
  const parts = { prompt: promptTokens ?? 0, person: 0, model: 0, outputs: 0, lines: 0, rest: 0 };
  for (const [at, { tokens, shown }] of about.entries()) {
    const { role } = JSON.parse(messages[at]);
    parts[kindOf(role, shown?.as)] += tokens;
  }
  return parts;
}

/**
 * @param {unknown} role
 * @param {string | undefined} shown how a tool result is shown
 * @returns {Kind}
 */
function kindOf(role, shown) {
  switch (role) {
    case "user":
      return "person";
    case "assistant":
      return "model";
    case "toolResult":
    case "bashExecution":
      return shown === "reference" || shown === "reread" ? "lines" : "outputs";
    default:
      return shown === "reference" ? "lines" : "rest";
  }
}
