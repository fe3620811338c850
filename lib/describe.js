// Describes objects in a few words, for people.
import { name } from "./terminal.js";

/** The types of objects. @type {import("../index.js").ObjectType[]} */
export const types = ["file", "toolcall", "chat_segment", "chat", "system_prompt", "session"];

/** @typedef {import("../index.js").Version} Version */

/**
 * What an object is: its path, its tool and arguments, its session.
 * @param {Version} version
 */
export function what({ source, fields, type, id, nicknames }) {
  const nickname = nicknames.length === 0 ? "" : `(${nicknames.map(name).join(", ")}) `;
  return nickname + (source?.path === undefined ? (described(type, fields) ?? name(id)) : name(source.path));
}

/**
 * What a version is, and which store wrote it where that is another one.
 * @param {Version} version
 * @param {{ id: string }} store
 */
export function whatAndWhence(version, store) {
  const whence = elsewhere(version, store);
  return whence === null ? what(version) : `${what(version)} · from ${whence}`;
}

/**
 * Who wrote a version and where, or which store; null if that is this one.
 * @param {Version} version
 * @param {{ id: string }} store
 */
export function elsewhere({ origin }, store) {
  return origin.storeId === store.id ? null : (whose(origin) ?? `another store, ${name(origin.storeId.slice(0, 8))}`);
}

/**
 * Such as `Ann on anns-laptop`; null where that is not known.
 * @param {{ machine: string | null, author: string | null }} origin
 */
export function whose({ machine, author }) {
  return machine === null ? null : name(author === null ? machine : `${author} on ${machine}`);
}

/**
 * How large a version is, or why it has no content.
 * @param {Version} version
 * @param {(count: number) => string} figure how a count is written
 * @param {number} [characters] those of its content, where the version does not say it
 */
export function size({ type, itemCount, content, fields, redacted }, figure, characters) {
  if (redacted !== null) {
    return `redacted (${redacted})`;
  }
  if (itemCount > 0) {
    const item = type === "chat" ? "message" : type === "session" ? "event" : "item";
    return `${figure(itemCount)} ${item}${itemCount === 1 ? "" : "s"}`;
  }
  if (content === null) {
    return typeof fields.no_content === "string" ? fields.no_content.replaceAll("_", " ") : "no content";
  }
  const count = typeof fields.char_count === "number" ? fields.char_count : characters;
  return count === undefined ? "text" : `${figure(count)} ${count === 1 ? "char" : "chars"}`;
}

/** Why a version has no content, by what it says of itself: of a file, of anything else. @type {Record<string, [string, string]>} */
const reasons = {
  excluded: [
    "the setting `exclude` names it, so that its text is never stored",
    "it shows a file that the setting `exclude` names, so that it is never stored",
  ],
  secret: [
    "it holds what looks like a secret",
    "it holds what looks like a secret, and its command may have read a file that the setting `exclude` names, so that it is never stored",
  ],
  forgotten: ["a person removed its text", "a person removed its text"],
  not_read: [
    "a listing or a command named it, and nobody read it; `palimpsest index` stores it",
    "a listing or a command named it, and nobody read it",
  ],
};

/**
 * Why a version has no content, in words; undefined where nothing is to be said but its size.
 * @param {Version} version
 */
export function whyNoText({ fields, redacted, type }) {
  // Here `secret` is why an archive left the text out.
  const of = redacted === "secret" ? undefined : reasons[redacted ?? String(fields.no_content)];
  return of?.[type === "file" ? 0 : 1];
}

/**
 * The additional content that holds all of an output that its tool had cut; undefined if there is none.
 * @param {Version} version
 */
export function wholeOutput({ additional }) {
  return additional.full_output === undefined ? undefined : "full_output";
}

/**
 * A number of things: `1 line`, `2 lines`.
 * @param {number} count
 * @param {string} thing
 */
export function plural(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** What a call asked for: the texts and numbers of its arguments, each in one line. @param {unknown} args */
function asked(args) {
  if (typeof args !== "object" || args === null) {
    return args === undefined ? "" : JSON.stringify(args);
  }
  const said = Object.values(args).map((value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "")));
  return said.map((value) => name(value.trim().split("\n", 1)[0])).join(" ");
}

/**
 * @param {string} type
 * @param {Record<string, unknown>} fields
 */
function described(type, fields) {
  if (type === "toolcall" && typeof fields.title === "string") {
    return name(fields.title);
  }
  if (type === "toolcall" && typeof fields.tool === "string") {
    return `${name(fields.tool)} ${asked(fields.args)}`.trim();
  }
  if (type === "chat_segment" && typeof fields.first_message === "number") {
    const { first_message: first, last_message: last, first_turn: turn, last_turn: until } = fields;
    return `messages ${first}-${last} of the chat, ${turn === until ? `turn ${turn}` : `turns ${turn}-${until}`}`;
  }
  if (type === "chat" && typeof fields.turn_count === "number") {
    return `a chat of ${plural(fields.turn_count, "turn")}`;
  }
  if (type === "session" && typeof fields.cwd === "string") {
    return `${fields.harness} ${name(fields.cwd)}`;
  }
  return undefined;
}
