// The messages of OpenClaw as the session gets them, and back. OpenClaw spells the IDs of calls in a history differently than while they
// run, adds numbers to those that a server used twice, and drops fields. So that a message is the same one in both, its calls get IDs by
// its time, and only the fields that both have are handed over. Holds nothing that the store lacks, and decides nothing.
import { blocksOf } from "../lib/content.js";

/**
 * @import { Message } from "../index.js"
 * @import { HostMessage } from "./host.d.ts"
 */

/** What the messages of ours are called in OpenClaw's list. */
const ownType = "palimpsest";

/** The time of the messages of ours: the host orders by place, and a time that changes would change the request. */
const ownTime = 1;

/** The message of the host that one of ours was made of. A copy with another content keeps it, and JSON leaves it out. */
const source = Symbol("source");

/** What the session knows a message by, in this order; the host has more, and not the same in a history as in a running turn. */
const handedFields = ["role", "content", "timestamp", "toolCallId", "toolName", "isError"];
const talkRoles = new Set(["user", "assistant", "toolResult"]);

/** What OpenClaw says for a call that was broken off, with the time at which a turn begins: at each turn another one. The second is for OpenAI's Responses. */
const missingResults = new Set([
  "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.",
  "aborted",
]);

/** Fields of other kinds of messages that only a history has, or only a running turn. */
const unstable = new Set(["__openclaw", "idempotencyKey", "details"]);

/** The calls of a list: by the host's ID the one that the session knows. */
export class Calls {
  /** @type {Map<string, string>} */
  #newest = new Map();
  /** @type {Map<string, string>} */
  #hosts = new Map();

  /**
   * Names a call of an assistant message.
   * @param {string} id the host's
   * @param {number | undefined} timestamp of the message
   * @param {number} at its place among the calls of the message
   */
  add(id, timestamp, at) {
    const own = timestamp === undefined ? plainId(id) : `call_${timestamp}_${at}`;
    this.#newest.set(plainId(id), own);
    this.#hosts.set(own, id);
    return own;
  }

  /** The ID of the newest call with an ID of the host's. @param {string} id */
  of(id) {
    return this.#newest.get(plainId(id)) ?? plainId(id);
  }

  /** The host's ID of a call. @param {string} own */
  host(own) {
    return this.#hosts.get(own) ?? own;
  }
}

/** As OpenClaw spells an ID in most histories. @param {string} id */
function plainId(id) {
  return id.replaceAll(/[^a-zA-Z0-9]/g, "") || id;
}

/**
 * A list as the session gets it.
 * @param {readonly HostMessage[]} messages
 * @param {Calls} calls takes the calls of the list
 * @returns {Message[]}
 */
export function toSession(messages, calls) {
  return messages.filter((message) => message.customType !== ownType).map((message) => handedOver(message, calls));
}

/**
 * @param {HostMessage} message
 * @param {Calls} calls
 * @returns {Message}
 */
function handedOver(message, calls) {
  /** @type {Record<string | symbol, unknown>} */
  const copy = { [source]: message };
  const fields = talkRoles.has(message.role)
    ? handedFields
    : Object.keys(message).filter((field) => !unstable.has(field));
  for (const field of fields) {
    if (message[field] !== undefined) {
      copy[field] = message[field];
    }
  }
  if (message.role === "assistant" && Array.isArray(message.content)) {
    let at = 0;
    copy.content = message.content.map((block) =>
      isCall(block) ? { ...block, id: calls.add(block.id, message.timestamp, at++) } : block,
    );
  }
  if (message.role === "toolResult" && typeof message.toolCallId === "string") {
    copy.toolCallId = calls.of(message.toolCallId);
    if (message.isError === true && missingResults.has(textsOf(message.content).join())) {
      delete copy.timestamp;
    }
  }
  return /** @type {Message} */ (/** @type {unknown} */ (copy));
}

/** @param {unknown} block @returns {block is { type: "toolCall", id: string }} */
export function isCall(block) {
  const { type, id } = /** @type {{ type?: unknown, id?: unknown }} */ (block ?? {});
  return type === "toolCall" && typeof id === "string";
}

/**
 * A list from the session as OpenClaw gets it: its own messages where nothing changed.
 * @param {readonly (Message | HostMessage)[]} messages
 * @param {readonly Message[]} given what the session got
 * @param {Calls} calls
 * @returns {HostMessage[]}
 */
export function toHost(messages, given, calls) {
  const same = new Set(given);
  return messages.map((message) => {
    const original = /** @type {{ [source]?: HostMessage }} */ (message)[source];
    if (original === undefined) {
      const { content } = message;
      return { role: "custom", customType: ownType, display: false, content, timestamp: ownTime };
    }
    return same.has(message) ? original : { ...original, content: hostContent(message.content, calls) };
  });
}

/**
 * @param {unknown} content
 * @param {Calls} calls
 */
function hostContent(content, calls) {
  if (!Array.isArray(content)) {
    return content;
  }
  return content.map((block) => (isCall(block) ? { ...block, id: calls.host(block.id) } : block));
}

/**
 * A history with the images that persons sent. Before the prompt OpenClaw's messages only name them; before a call they have them.
 * @param {readonly HostMessage[]} history
 * @param {readonly HostMessage[]} listed before a call, where the host may have put in or held back others
 * @returns {readonly HostMessage[]}
 */
export function withImages(history, listed) {
  const shown = listed.filter(({ role, content }) => role === "user" && blocksOf(content).some(isImage));
  return history.map((message) => {
    const at = message.role === "user" ? shown.findIndex((other) => isWithImage(message, other)) : -1;
    // Each stands once: two may come in one second.
    return at < 0 ? message : (shown.splice(at, 1)[0] ?? message);
  });
}

/** @param {HostMessage} message @param {HostMessage} other the same message with its image, or another one */
function isWithImage(message, other) {
  if (message.timestamp !== other.timestamp) {
    return false;
  }
  const [one, two] = [message, other].map(({ content }) => JSON.stringify(textsOf(content)));
  const haveKeys = message.idempotencyKey !== undefined && other.idempotencyKey !== undefined;
  return haveKeys ? hasKeyOf(message, other) : one === two;
}

/** Whether the host gave two messages one key. @param {HostMessage} one @param {HostMessage} other */
export function hasKeyOf({ idempotencyKey }, other) {
  return idempotencyKey !== undefined && idempotencyKey === other.idempotencyKey;
}

/** @param {{ type?: unknown } | null} block */
function isImage(block) {
  return block?.type === "image";
}

/** What a person typed to us or to the host, and not to the model. */
const command = /^\s*\/(\s*palimpsest(?=[\s:]|$)|(new|reset)\s*$)/i;
/** The same with the name of a bot: to another one it is a message. */
const addressed = /^\s*\/palimpsest@\w/i;

/**
 * A history as the provider got it, turn by turn: without such commands, which OpenClaw keeps as words of the person, and with messages
 * apart that went out apart. Persons' messages that stand side by side in a history are joined by OpenClaw, one turn after it sent the
 * last of them by itself; so the request would change where nothing did.
 * @param {readonly HostMessage[]} history
 * @param {readonly HostMessage[]} sent messages of persons that went out before
 * @returns {HostMessage[]}
 */
export function asSent(history, sent) {
  const plain = history.flatMap((message, at) =>
    message.role === "user" ? withoutCommands(message, history[at + 1]?.role === "assistant") : [message],
  );
  const listed = new Set(plain.map(({ timestamp }) => timestamp));
  const gone = sent.filter(({ timestamp }) => timestamp !== undefined && !listed.has(timestamp));
  if (gone.length === 0) {
    return plain;
  }
  return plain.flatMap((message, at) => {
    if (!isJoined(message)) {
      return [message];
    }
    // Said while tools ran, it is older than their results. Some channels tell whole seconds.
    const before = plain.slice(0, at).findLast(({ role }) => role !== "toolResult");
    const since = Math.floor((before?.timestamp ?? 0) / 1000) * 1000;
    const isBetween = ({ timestamp = 0 }) => timestamp >= since && timestamp <= (message.timestamp ?? 0);
    return apart(message, gone.filter(isBetween));
  });
}

/** Whether OpenClaw may have made a message of several. @param {HostMessage} message */
export function isJoined({ role, content }) {
  return role === "user" && Array.isArray(content) && textsOf(content).length > 1;
}

/** Whether somebody typed a message to us or to the host. @param {HostMessage} message */
export function isCommand({ role, content }) {
  return role === "user" && textsOf(content).some((text) => command.test(text));
}

/** @param {HostMessage} message @param {boolean} isAnswered by the model, its last words @returns {HostMessage[]} */
function withoutCommands(message, isAnswered) {
  const blocks = blocksOf(message.content);
  const isLeft = (/** @type {unknown} */ block, /** @type {number} */ at) =>
    textsOf([block]).some(
      (text) => command.test(text) || (addressed.test(text) && !(isAnswered && at === blocks.length - 1)),
    );
  const rest = blocks.filter((block, at) => !isLeft(block, at));
  if (rest.length === blocks.length) {
    return [message];
  }
  return rest.length === 0 ? [] : [withBlocks(message, rest)];
}

/** A message with these blocks, as the host had it before it joined them. @param {HostMessage} message @param {unknown[]} blocks */
function withBlocks(message, blocks) {
  const [only] = textsOf(blocks);
  return { ...message, content: blocks.length === 1 && only !== undefined ? only : blocks };
}

/**
 * The messages that one was made of, as far as they are known.
 * @param {HostMessage} message
 * @param {readonly HostMessage[]} known in the order in which they went out
 */
function apart(message, known) {
  const parts = [];
  let rest = /** @type {unknown[]} */ (message.content);
  for (const part of known) {
    const blocks = blocksOf(part.content);
    if (blocks.length < rest.length && JSON.stringify(rest.slice(0, blocks.length)) === JSON.stringify(blocks)) {
      parts.push(part);
      rest = rest.slice(blocks.length);
    }
  }
  return parts.length === 0 ? [message] : [...parts, withBlocks(message, rest)];
}

/** The texts of a content. @param {unknown} content @returns {string[]} */
export function textsOf(content) {
  return blocksOf(content)
    .map((block) => block?.text)
    .filter((text) => typeof text === "string");
}
