// Messages, calls and bills as the page shows them in lists: long texts cut. For both sides: knows neither Node nor the document.

/**
 * @import { CallChange, ComparedCall, Ledger, RecordedCall, SessionBill } from "../../index.js"
 * @import { CallView, Comparison, MessageView } from "../protocol.js"
 *
 * @typedef {Pick<RecordedCall, "messages" | "about">} Listed
 */

/** Characters of a string, entries of a list and depth of a value that a list of messages shows. */
const shownCharacters = 2_000;
const shownEntries = 500;
const shownDepth = 32;

/** Characters of a difference that are shown. */
const shownDiffCharacters = 20_000;

/**
 * The start of a text, which splits no pair of surrogates.
 * @param {string} text
 * @param {number} most characters
 */
export function startOf(text, most) {
  if (text.length <= most) {
    return text;
  }
  const isPair = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(most - 1, most + 1));
  return text.slice(0, isPair ? most - 1 : most);
}

/**
 * A difference as it is shown.
 * @param {string | null} diff
 */
export function shownDiff(diff) {
  return diff && startOf(diff, shownDiffCharacters);
}

/**
 * A message as a list shows it.
 * @param {string} json
 * @returns {{ message: unknown, length: number, cut: boolean }}
 */
function shownMessage(json) {
  let isCut = false;
  /** @type {(value: unknown, depth: number) => unknown} */
  const cut = (value, depth) => {
    if (typeof value === "string") {
      isCut ||= value.length > shownCharacters;
      return startOf(value, shownCharacters);
    }
    if (typeof value !== "object" || value === null) {
      return value;
    }
    if (depth === shownDepth) {
      isCut = true;
      return null;
    }
    const entries = Object.entries(value);
    isCut ||= entries.length > shownEntries;
    const shown = entries.slice(0, shownEntries).map(([key, member]) => [startOf(key, 200), cut(member, depth + 1)]);
    return Array.isArray(value) ? shown.map(([, member]) => member) : Object.fromEntries(shown);
  };
  const message = cut(JSON.parse(json), 0);
  return { message, length: json.length, cut: isCut };
}

/**
 * The text of a message, its blocks in lines; null where it has none.
 * @param {string} json
 * @returns {string | null}
 */
export function messageText(json) {
  if (!json.startsWith("{")) {
    return null;
  }
  const { content } = JSON.parse(json);
  if (!Array.isArray(content)) {
    return typeof content === "string" ? content : null;
  }
  const texts = content.flatMap((block) => (typeof block?.text === "string" ? [block.text] : []));
  return texts.length === 0 ? null : texts.join("\n");
}

/**
 * @param {Pick<ComparedCall, "call" | "changes" | "promptChange"> & { other: Listed | null }} compared
 * @returns {CallView}
 */
export function shownCall({ call, other, changes, promptChange }) {
  const { messages, about, payload, ...rest } = call;
  const changed = payload?.messages?.map(shownMessage) ?? null;
  const counted = providersCount(call);
  return {
    call: {
      ...rest,
      sentTokens: rest.sentTokens && counted(rest.sentTokens),
      plainTokens: rest.plainTokens && counted(rest.plainTokens),
      promptTokens: rest.promptTokens && counted(rest.promptTokens),
      payload: payload === null ? null : { hash: payload.hash, messages: changed },
    },
    messages: messages.map((_, at) => shown(call, at, counted)),
    before: other === null ? null : comparison(call, other, changes),
    promptChange: promptChange && { ...promptChange, text: shownDiff(promptChange.text) },
  };
}

/**
 * @param {Pick<RecordedCall, "size" | "sentTokens" | "promptTokens">} call
 * @param {Listed} other
 * @param {CallChange[]} changes from the other one on
 * @returns {Comparison}
 */
export function comparison(call, other, changes) {
  const gone = changes.filter(({ change }) => change === "removed" || change === "changed");
  const counted = providersCount(call);
  return {
    count: other.messages.length,
    tokens: other.about.reduce((sum, { tokens }) => sum + counted(tokens), 0),
    changes: changes.map((change) => ({ ...change, diff: shownDiff(change.diff) })),
    messages: Object.fromEntries(gone.map(({ old }) => [Number(old), shown(other, Number(old), counted)])),
  };
}

/**
 * How our count of tokens becomes the provider's, in which a call is billed and its window is full: its parts add up to what is billed.
 * @param {Pick<RecordedCall, "size" | "sentTokens" | "promptTokens">} call
 */
function providersCount({ size, sentTokens, promptTokens }) {
  const ours = (sentTokens ?? 0) + (promptTokens ?? 0);
  const factor = size === null ? 1 : sentTokens === null || ours === 0 ? size.factor : size.sent / ours;
  return (/** @type {number} */ tokens) => Math.round(tokens * factor);
}

/**
 * @param {Listed} list
 * @param {number} at
 * @param {(tokens: number) => number} counted
 * @returns {MessageView}
 */
function shown(list, at, counted) {
  const about = list.about[at];
  return { ...shownMessage(list.messages[at]), about: { ...about, tokens: counted(about.tokens) } };
}

/**
 * @param {Ledger} ledger
 * @returns {SessionBill}
 */
export function billOf({ bill, plainBill, dollars, faults, perCall }) {
  const newest = perCall.at(-1);
  const window = newest === undefined ? null : { ours: newest.ours.sent, plain: newest.plain.sent };
  return { bill, plainBill, dollars, faults: faults.count, window };
}
