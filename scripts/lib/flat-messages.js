// Requests as lines that can be compared: what the model's server received, and what the store renders of the same call. Knows the
// shapes of Pi's messages and of OpenAI's, and no more of them than texts and tool calls.

/**
 * @typedef {{ type: string, text?: string, id?: string, name?: string, arguments?: unknown }} Block
 * @typedef {{ role: string, content?: string | Block[], toolCallId?: string, stopReason?: string, summary?: string, command?: string, output?: string }} Message
 */

/** What Pi says in the place of a result that never came. */
const unanswered = "No result provided";

/**
 * The lines of a body in OpenAI's format, without the system prompt.
 * @param {import("./scripted-model.js").RequestBody | undefined} body
 * @returns {string[]}
 */
export function flatBody(body) {
  const messages = body?.messages.filter(({ role }) => role !== "system" && role !== "developer") ?? [];
  // Pi answers calls that have no result.
  const given = messages.filter(
    ({ role, content }) => role !== "tool" || textOf(/** @type {any} */ (content)) !== unanswered,
  );
  return given.map(({ role, content, tool_calls: calls = [], tool_call_id: id }) => {
    const asked = calls.map((call) => [call.id, call.function.name, JSON.parse(call.function.arguments)]);
    return line(role === "tool" ? `tool ${id}` : role, textOf(/** @type {any} */ (content)), asked);
  });
}

/**
 * The same lines from the messages of a recorded call.
 * @param {Message[]} messages
 * @returns {string[]}
 */
export function flatRecord(messages) {
  return messages.filter(goesOut).map((message) => {
    if (message.role === "toolResult") {
      return line(`tool ${message.toolCallId}`, textOf(message.content) || "(no tool output)", []);
    }
    const blocks = Array.isArray(message.content) ? message.content : [];
    const calls = blocks.filter(({ type }) => type === "toolCall");
    const asked = calls.map((call) => [call.id, call.name, call.arguments]);
    return line(message.role === "assistant" ? "assistant" : "user", wordsOf(message), asked);
  });
}

/** Whether Pi sends a message: not an answer that failed or was aborted. @param {Message} message */
function goesOut({ role, stopReason }) {
  return role !== "assistant" || (stopReason !== "error" && stopReason !== "aborted");
}

/** The words that Pi makes of a message. @param {Message} message */
function wordsOf(message) {
  switch (message.role) {
    case "compactionSummary":
      return `The conversation history before this point was compacted into the following summary:\n\n<summary>\n${message.summary}\n</summary>`;
    case "branchSummary":
      return `The following is a summary of a branch that this conversation came back from:\n\n<summary>\n${message.summary}</summary>`;
    default:
      return textOf(message.content);
  }
}

/** @param {string | Block[] | null | undefined} content */
function textOf(content) {
  const texts = typeof content === "string" ? [content] : (content ?? []).map(({ text }) => text ?? "");
  return texts.filter((text) => text !== "").join("\n");
}

/**
 * @param {string} role
 * @param {string} text
 * @param {unknown[]} asked
 */
function line(role, text, asked) {
  return JSON.stringify(asked.length === 0 ? [role, text] : [role, text, asked]);
}
