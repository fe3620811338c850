// A call as the page shows it: its messages and what they differ in, long texts cut. Reads what the store rendered; decides nothing.
import { shownMessage, startOf } from "./texts.js";

/**
 * @import { CallChange, ComparedCall, RecordedCall } from "../../index.js"
 * @import { CallView, Comparison, MessageView } from "../protocol.js"
 */

/** Characters of a difference that are shown. */
const shownDiff = 20_000;

/**
 * @param {ComparedCall} compared
 * @returns {CallView}
 */
export function shownCall({ call, other, changes }) {
  const { messages, about, payload, ...rest } = call;
  const sent = payload?.messages ?? null;
  return {
    call: {
      ...rest,
      payload:
        payload === null ? null : { hash: payload.hash, messages: sent === null ? null : sent.map(shownMessage) },
    },
    messages: messages.map((_, at) => shown(call, at)),
    before: other === null ? null : comparison(other, changes),
  };
}

/**
 * @param {RecordedCall} other
 * @param {CallChange[]} changes from the other one on
 * @returns {Comparison}
 */
export function comparison(other, changes) {
  const gone = changes.filter(({ change }) => change === "removed" || change === "changed");
  return {
    count: other.messages.length,
    tokens: other.about.reduce((sum, { tokens }) => sum + tokens, 0),
    changes: changes.map((change) => ({ ...change, diff: change.diff && startOf(change.diff, shownDiff) })),
    messages: Object.fromEntries(gone.map(({ old }) => [Number(old), shown(other, Number(old))])),
  };
}

/**
 * @param {RecordedCall} call
 * @param {number} at
 * @returns {MessageView}
 */
function shown(call, at) {
  return { ...shownMessage(call.messages[at]), about: call.about[at] };
}
