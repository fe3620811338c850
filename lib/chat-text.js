// A chat as a text for people: what was said in its order, each message behind a line that says whose it is. Outputs are named, and not
// shown. Decides nothing.
import { line } from "./terminal.js";

/** What begins the line in front of a message; in what was said such a line has a backslash before it. */
const delimiter = "--- ";

/**
 * @typedef {{ [member: string]: unknown, type?: string }} Block
 * @typedef {{ turn?: number, message?: { [member: string]: unknown, role?: string }, content?: { object?: string, lines?: [first: number, last: number] } }} Item
 */

/** The text of a message as the chat has it. @param {string} json */
export function chatText(json) {
  const item = /** @type {Item} */ (JSON.parse(json));
  const message = item.message ?? {};
  switch (message.role) {
    case "user":
      return parts(`user${item.turn === undefined ? "" : `, turn ${item.turn}`}`, message.content);
    case "assistant":
      return parts("assistant", message.content);
    case "toolResult":
      return result(item, message);
    default: {
      const { role, content, ...rest } = message;
      return parts(role ?? "message", content ?? JSON.stringify(rest));
    }
  }
}

/** @param {Item} item @param {{ [member: string]: unknown }} message */
function result({ content }, message) {
  const lines = content?.lines === undefined ? "" : ` lines ${content.lines.join("-")}`;
  const output = content?.object === undefined ? [] : [`${content.object}${lines}`];
  const words = [message.toolCallId, message.toolName, message.isError === true ? "fail" : "ok", ...output];
  const shown = message.content === null || message.content === undefined ? "" : texts(message.content).join("\n");
  return part(`tool result ${words.join(" · ")}`, shown);
}

/** A part for each block; texts that follow each other belong to one. @param {string} who @param {unknown} content */
function parts(who, content) {
  if (!Array.isArray(content)) {
    return part(who, typeof content === "string" ? content : JSON.stringify(content));
  }
  const shown = content.map((/** @type {Block} */ block) => {
    switch (block?.type) {
      case "text":
        return part(who, String(block.text));
      case "thinking":
        return part(`${who}: thinking`, String(block.thinking));
      case "toolCall":
        return part(`tool call ${block.id} · ${block.name}`, called(block.arguments));
      default:
        return part(`${who}: ${block?.type ?? "block"}`, texts([block]).join("\n"));
    }
  });
  return shown.length === 0 ? part(who, "") : shown.join("");
}

/** The arguments of a call. @param {unknown} given */
function called(given) {
  return typeof given === "object" && given !== null
    ? Object.entries(given)
        .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
        .join("\n")
    : JSON.stringify(given);
}

/** @param {unknown} content @returns {string[]} */
function texts(content) {
  if (!Array.isArray(content)) {
    return [typeof content === "string" ? content : JSON.stringify(content)];
  }
  return content.map((/** @type {Block} */ block) => {
    switch (block?.type) {
      case "text":
        return String(block.text);
      case "image":
        return `${block.mimeType ?? "an image"}, ${String(block.data ?? "").length} characters of base64`;
      default:
        return JSON.stringify(block);
    }
  });
}

/** @param {string} who @param {string} said */
function part(who, said) {
  const text = said.replaceAll(/^(?=\\*--- )/gm, "\\");
  return `${delimiter}${line(who)}\n${text === "" || text.endsWith("\n") ? text : `${text}\n`}`;
}
