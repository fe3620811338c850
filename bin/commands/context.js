// `palimpsest context`: what the model saw at a call, byte for byte; how it differs from another call; why each message is shown as
// it is.

import { plural } from "../../lib/describe.js";
import { reasons } from "../../lib/reasons.js";
import { name } from "../../lib/terminal.js";
import { UsageError, wholeNumber } from "../lib/arguments.js";
import { styled, write, writeJson } from "../lib/output.js";
import { withStore } from "../lib/store.js";
import { pairs } from "../lib/table.js";
import { coloured } from "./diff.js";

/**
 * @typedef {import("../../index.js").RecordedCall} RecordedCall
 * @typedef {import("../../index.js").CallChange} CallChange
 */

/** @type {import("../lib/arguments.js").Command} */
export const context = {
  name: "context",
  usage: "SESSION [--call N] [--diff M] [--why]",
  summary: "Print what the model saw at a call, byte for byte",
  arguments: [1, 1],
  options: {
    call: { type: "string", value: "N", text: "number of the call, from 1; default: the newest" },
    diff: { type: "string", value: "M", text: "show what changed since call M, message by message" },
    why: {
      type: "boolean",
      text: "show how each message is shown and since when, and the IDs of tool calls, instead of texts",
    },
  },
  notes: [
    "SESSION is the ID of a session, the host's session ID, a unique prefix, or `latest`. The call is rendered again from the store and checked against the recorded hash. Where the store does not hold a message, its place is marked.",
    "With --json, each message is on a line of its own, with the bytes that went out.",
  ],
  json: "RecordedCall with messages: Message[], or with --diff { changes: CallChange[] }",
  examples: ["palimpsest context latest", "palimpsest context 0198c2f1 --call 2 --diff 1 --why"],
  async run(given) {
    const call = wholeNumber(given, "call");
    const other = wholeNumber(given, "diff");
    const [session] = given.positionals;
    await withStore(given, async (store) => {
      const found = await store.recordedCall(session, { call });
      if (other === undefined) {
        return given.json ? write(asJson(found)) : write(head(found) + body(found, given.values.why === true));
      }
      if (other === found.call) {
        throw new UsageError(`\`--diff\` names call ${other} itself`, "give the number of another call");
      }
      const earlier = await store.recordedCall(session, { call: other });
      const changes = await store.compareCalls(session, other, found.call);
      if (given.json) {
        return writeJson({ changes });
      }
      const parts = changes.map((change) => changed(change, earlier, found, given.values.why === true));
      await write(head(found) + parts.join(""));
    });
  },
};

/**
 * The call as one JSON document in which the messages are the bytes that went out.
 * @param {RecordedCall} call
 */
function asJson({ messages, ...rest }) {
  const lines = messages.map((message) => `\n    ${message}`).join(",");
  return `${JSON.stringify(rest, null, 2).slice(0, -2)},\n  "messages": [${lines}${lines === "" ? "" : "\n  "}]\n}\n`;
}

/** @param {RecordedCall} call */
function head(call) {
  const epoch = call.epoch === 0 ? "0, the first" : `${call.epoch}: ${call.epochReason ?? "-"}`;
  const lines = {
    call: `${call.call} of ${call.sessionId}`,
    ...(call.retryOf !== null && { "retry of": `call ${call.retryOf}` }),
    ...(call.failedOpen !== null && { "failed open": `the host's own messages went out: ${call.failedOpen}` }),
    ...(call.time !== null && { time: call.time, model: call.model ?? "-", layout: `${call.layout}, epoch ${epoch}` }),
    ...(call.size !== null && { tokens: sizes(call.size) }),
    hash: `${call.hash ?? "none"}${call.verified ? ", checked" : ", not checked"}`,
    ...(call.payload !== null && { request: request(call.payload) }),
  };
  return `${pairs(lines)}\n`;
}

/** Whole requests, as the ledger has them. @param {import("../../index.js").CallSize} size */
function sizes({ sent, plain, extra }) {
  return `${sent} sent, ${plain} plain${extra ? ", which makes no such call" : ""}`;
}

/** @param {import("../../index.js").RecordedPayload} payload */
function request({ hash, messages }) {
  return `${hash}${messages === null ? "" : "; its messages were changed by another extension, see the end"}`;
}

/**
 * @param {RecordedCall} call
 * @param {boolean} why
 */
function body(call, why) {
  const messages = call.messages.map((message, at) => {
    const text = why ? indented(reasons(call.about[at])) : `${shown(message)}\n`;
    return `${heading(call, at, { why })}${text}\n`;
  });
  if (why) {
    return messages.join("");
  }
  const prompt = call.systemPrompt === null ? "" : `${title("system prompt")}${call.systemPrompt}\n\n`;
  const tools = Array.isArray(call.tools) ? call.tools.map((tool) => `${JSON.stringify(tool)}\n`).join("") : "";
  const sent = call.payload?.messages?.map((message) => `${message}\n`).join("");
  return [
    prompt,
    tools === "" ? "" : `${title("tools")}${tools}\n`,
    ...messages,
    sent === undefined ? "" : `${title("the request's messages as they went out")}${sent}`,
  ].join("");
}

/**
 * One change, with the text of what came and went.
 * @param {CallChange} change
 * @param {RecordedCall} earlier
 * @param {RecordedCall} later
 * @param {boolean} why
 */
function changed({ change, old, new: now, count, diff }, earlier, later, why) {
  const because = why && now !== null ? indented(reasons(later.about[now])) : "";
  if (change === "kept" && old !== null && now !== null) {
    const range = (/** @type {number} */ first) => (count === 1 ? `${first + 1}` : `${first + 1}-${first + count}`);
    const place = old === now ? "" : `, before ${range(old)}`;
    return `${title(`${range(now)} kept${place} · ${plural(count, "message")}`)}\n`;
  }
  if (change === "changed" && now !== null) {
    return `${heading(later, now, { what: "changed", why })}${because}${coloured(diff ?? "")}\n`;
  }
  if (change === "inserted" && now !== null) {
    return `${heading(later, now, { what: "inserted", why })}${because}${signed("+", later.messages[now])}\n`;
  }
  return old === null
    ? ""
    : `${heading(earlier, old, { what: "removed", why })}${signed("-", earlier.messages[old])}\n`;
}

/**
 * @param {string} sign
 * @param {string} message
 */
function signed(sign, message) {
  const lines = shown(message).split("\n");
  return coloured(lines.map((line) => `${sign}${line}\n`).join(""));
}

/**
 * Number, role and handles of a message; with `why` also the ID by which other commands know the object.
 * @param {RecordedCall} call
 * @param {number} at
 * @param {{ what?: string, why: boolean }} options
 */
function heading(call, at, { what, why }) {
  const { object, handle, fileHandle, path, withheld } = call.about[at];
  const { role, toolName } = parsed(call.messages[at]);
  const words = [
    `${at + 1} ${what === undefined ? "" : `${what} · `}${role ?? "message"}${toolName === undefined ? "" : ` ${toolName}`}`,
    ...(handle === null ? [] : [why && object !== null ? `${handle} ${object}` : handle]),
    ...(fileHandle === null ? [] : [`${fileHandle} ${name(path ?? "")}`]),
    ...(withheld === null ? [] : [`not in the store: ${withheld}`]),
  ];
  return title(words.join(" · "));
}

/** @param {string[]} lines */
function indented(lines) {
  return lines.map((line) => `   ${line}\n`).join("");
}

/** @param {string} text */
function title(text) {
  return `${styled("bold", `── ${text}`)}\n`;
}

/**
 * A message's content for people: texts as they are, thinking and calls marked, other blocks as JSON.
 * @param {string} message
 */
function shown(message) {
  const { content, role: _role, timestamp: _timestamp, ...rest } = parsed(message);
  if (typeof content === "string") {
    return content;
  }
  if (!Array.isArray(content)) {
    return JSON.stringify(rest);
  }
  return content.map(block).join("\n");
}

/** @param {{ [member: string]: unknown } | null} value */
function block(value) {
  switch (value?.type) {
    case "text":
      return String(value.text);
    case "thinking":
      return `<thinking> ${value.thinking}`;
    case "toolCall":
      return `<call ${value.id}> ${value.name} ${JSON.stringify(value.arguments)}`;
    case "image":
      return `<image ${value.mimeType}, ${String(value.data).length} characters of base64>`;
    default:
      return JSON.stringify(value);
  }
}

/**
 * @param {string} message
 * @returns {{ role?: string, toolName?: string, [member: string]: unknown }}
 */
function parsed(message) {
  const value = JSON.parse(message);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : { content: message };
}
