// What request bodies cost and whether they hold together. Pure functions over bodies as a model server received them,
// by the rules of measuring in replay: a token is 4 characters of role, text, thinking, tool name and arguments.
// Must not know how the messages were made.

/**
 * @typedef {import("./scripted-model.js").RequestBody} RequestBody
 * @typedef {import("./scripted-model.js").WireMessage} WireMessage
 *
 * @typedef {object} CallCost one call's input, in tokens
 * @property {number} sent
 * @property {number} commonPrefix length of the common prefix with the previous request
 * @property {number} fixedPart system prompt and tools if they equal the previous request's, else 0
 * @property {boolean} grew whether the whole previous request is a prefix of it; true for the first request
 *
 * @typedef {object} Price what a token costs in units of an uncached one without caching
 * @property {string} name
 * @property {number} write what is not cached
 * @property {number} read what is cached
 * @property {boolean} wholePrefixOnly whether a change inside the previous request leaves only system prompt and tools cached
 */

/** @type {readonly Price[]} */
export const prices = [
  { name: "Anthropic-like (write 1.25, read 0.1)", write: 1.25, read: 0.1, wholePrefixOnly: true },
  { name: "OpenAI-like (write 1, read 0.1)", write: 1, read: 0.1, wholePrefixOnly: false },
];

/** Between the counted parts of a message; compared, not counted. */
const separator = "\0";

/**
 * Measures the calls of one session, in order.
 * @param {readonly RequestBody[]} bodies
 * @returns {CallCost[]}
 */
export function measureCalls(bodies) {
  return bodies.map((body, n) => measureCall(body, bodies[n - 1]));
}

/**
 * @param {RequestBody} body
 * @param {RequestBody | undefined} before
 * @returns {CallCost}
 */
function measureCall(body, before) {
  const parts = [fixedPart(body), ...conversationOf(body).map(messageText)];
  const sent = sum(parts.map(countCharacters));
  if (before === undefined) {
    return { sent: toTokens(sent), commonPrefix: 0, fixedPart: 0, grew: true };
  }
  const partsBefore = [fixedPart(before), ...conversationOf(before).map(messageText)];
  const fixed = parts[0] === partsBefore[0] ? countCharacters(parts[0]) : 0;
  const prefix = commonPrefixLength(parts, partsBefore);
  return {
    sent: toTokens(sent),
    commonPrefix: toTokens(prefix),
    fixedPart: toTokens(fixed),
    grew: isGrown(body, before),
  };
}

/**
 * Tokens of a call that a provider with this price serves from its cache.
 * @param {CallCost} call
 * @param {Price} price
 */
export function cachedTokens(call, price) {
  return price.wholePrefixOnly && !call.grew ? call.fixedPart : call.commonPrefix;
}

/**
 * The input bill of a session; 1 is the price of one uncached token.
 * @param {readonly CallCost[]} calls
 * @param {Price} price
 */
export function bill(calls, price) {
  return sum(
    calls.map((call) => {
      const cached = cachedTokens(call, price);
      return cached * price.read + (call.sent - cached) * price.write;
    }),
  );
}

/**
 * How many times a request did not just continue the previous one: the starts of epochs after the first.
 * @param {readonly CallCost[]} calls
 */
export function countRewrites(calls) {
  return calls.filter((call) => !call.grew).length;
}

/**
 * IDs of calls without exactly one result, and of results without a call.
 * @param {RequestBody} body
 * @returns {string[]}
 */
export function unpairedCalls(body) {
  const calls = body.messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.id);
  const results = body.messages.flatMap((message) => message.tool_call_id ?? []);
  const wrong = calls.filter((id) => results.filter((result) => result === id).length !== 1);
  return [...wrong, ...results.filter((id) => !calls.includes(id))];
}

/**
 * Text of a message's content, joined where it is in blocks.
 * @param {WireMessage} message
 * @returns {string}
 */
export function contentText(message) {
  if (typeof message.content === "string") {
    return message.content;
  }
  const blocks = /** @type {{ text?: string }[]} */ (Array.isArray(message.content) ? message.content : []);
  return blocks.map((block) => block.text ?? "").join("\n");
}

/**
 * What precedes the conversation: each tool as JSON, then the system prompt.
 * @param {RequestBody} body
 * @returns {string[]}
 */
export function fixedTexts(body) {
  const tools = (body.tools ?? []).map((tool) => JSON.stringify(tool.function));
  return [...tools, ...body.messages.filter(isSystem).map(contentText)];
}

/** @param {RequestBody} body */
function fixedPart(body) {
  return fixedTexts(body).join(separator);
}

/** @param {RequestBody} body */
function conversationOf(body) {
  return body.messages.filter((message) => !isSystem(message));
}

/** @param {WireMessage} message */
function isSystem(message) {
  return message.role === "system" || message.role === "developer";
}

/** @param {WireMessage} message */
function messageText(message) {
  const calls = (message.tool_calls ?? []).flatMap((call) => [call.function.name, call.function.arguments]);
  return [message.role, message.reasoning_content ?? "", contentText(message), ...calls].join(separator);
}

/**
 * Whether `body` starts with all of `before` unchanged, including what is not counted.
 * @param {RequestBody} body
 * @param {RequestBody} before
 */
function isGrown(body, before) {
  return (
    JSON.stringify(body.tools) === JSON.stringify(before.tools) &&
    before.messages.every((message, index) => JSON.stringify(message) === JSON.stringify(body.messages[index]))
  );
}

/**
 * Counted characters that two requests have in common from the start.
 * @param {string[]} parts
 * @param {string[]} others
 */
export function commonPrefixLength(parts, others) {
  const same = parts.findIndex((part, index) => part !== others[index]);
  if (same === -1) {
    return sum(parts.map(countCharacters));
  }
  const [part, other] = [parts[same], others[same] ?? ""];
  let end = 0;
  while (end < part.length && part[end] === other[end]) {
    end += 1;
  }
  return sum(parts.slice(0, same).map(countCharacters)) + countCharacters(part.slice(0, end));
}

/**
 * Unicode scalar values, separators left out.
 * @param {string} text
 */
function countCharacters(text) {
  let count = 0;
  for (const character of text) {
    count += character === separator ? 0 : 1;
  }
  return count;
}

/** @param {number} characters */
function toTokens(characters) {
  return Math.ceil(characters / 4);
}

/** @param {number[]} numbers */
function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
