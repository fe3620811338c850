// What a message consists of, as a person reads it: texts, thoughts, calls of tools, pictures. Must not touch the document.

/**
 * A part. `text` is shown; `label` says what it is, where it is not plain text.
 * @typedef {{ label: string | null, text: string }} Part
 */

/** The fields that are shown on their own; any other field of a message stands in its JSON. */
const NAMES = /** @type {{ [role: string]: string }} */ ({
  user: "person",
  assistant: "model",
  system: "system",
});

/** A string of a list of messages that may have been cut has at least so many characters. */
const CUT = 1_999;

/**
 * The role of a message.
 * @param {unknown} message
 */
export function roleOf(message) {
  const role = fields(message).role;
  return typeof role === "string" ? role : "";
}

/**
 * Who speaks, in words.
 * @param {unknown} message
 */
export function speakerOf(message) {
  const { toolName, isError } = fields(message);
  const role = roleOf(message);
  if (role === "toolResult" || role === "tool") {
    return `${isError === true ? "failed" : "result of"} ${typeof toolName === "string" ? toolName : "a tool"}`;
  }
  return NAMES[role] ?? (role || "message");
}

/**
 * The parts of a message; of one in an unknown form its JSON.
 * @param {unknown} message
 * @returns {Part[]}
 */
export function partsOf(message) {
  const { content, summary } = fields(message);
  const given = content ?? summary;
  if (typeof given === "string") {
    return [{ label: null, text: given }];
  }
  if (!Array.isArray(given)) {
    return [{ label: "JSON", text: JSON.stringify(message, null, 2) ?? "" }];
  }
  return given.map(partOf);
}

/**
 * @param {unknown} block
 * @returns {Part}
 */
function partOf(block) {
  const { type, text, thinking, name, arguments: args, input, mimeType } = fields(block);
  if (type === "text" && typeof text === "string") {
    return { label: null, text };
  }
  if (type === "thinking" && typeof thinking === "string") {
    return { label: "thinks", text: thinking };
  }
  if (type === "toolCall" || type === "tool_use") {
    return { label: `calls ${String(name)}`, text: argumentsText(args ?? input) };
  }
  if (type === "image") {
    return { label: `picture${typeof mimeType === "string" ? `, ${mimeType}` : ""}`, text: "" };
  }
  return { label: typeof type === "string" ? type : "JSON", text: JSON.stringify(block, null, 2) ?? "" };
}

/**
 * Arguments of a call, one to a line; texts as they are.
 * @param {unknown} args
 */
function argumentsText(args) {
  return Object.entries(fields(args))
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n");
}

/**
 * Whether a string in a value may have been cut.
 * @param {unknown} value
 * @returns {boolean}
 */
export function mayBeCut(value) {
  if (typeof value === "string") {
    return value.length >= CUT;
  }
  return typeof value === "object" && value !== null && Object.values(value).some(mayBeCut);
}

/**
 * The block of a message behind its part at that place.
 * @param {unknown} message
 * @param {number} at
 */
export function blockOf(message, at) {
  const { content, summary } = fields(message);
  const given = content ?? summary;
  return Array.isArray(given) ? given[at] : given;
}

/**
 * The first words of a message, for a line.
 * @param {unknown} message
 */
export function gistOf(message) {
  const [part] = partsOf(message).filter(({ label, text }) => label !== null || text.trim() !== "");
  return part === undefined ? "" : [part.label, part.text].filter(Boolean).join(" ");
}

/**
 * @param {unknown} value
 * @returns {{ [key: string]: unknown }}
 */
function fields(value) {
  return typeof value === "object" && value !== null ? /** @type {{ [key: string]: unknown }} */ (value) : {};
}
