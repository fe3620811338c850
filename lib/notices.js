// What a person reads of some events of a session, in Pi and OpenClaw alike. Loaded at every start, so it imports little.

import { shortCount } from "./figures.js";
import { name as spelt } from "./terminal.js";

/** @import { SessionEvent } from "../index.js" */

/**
 * Where a provider's reports of usage count for nothing.
 * @type {Readonly<Record<Extract<SessionEvent, { type: "usage_ignored" }>["why"], string>>}
 */
export const usageIgnored = {
  none: "the provider reports no tokens for its calls; sizes and costs are by our own count",
  constant: "the provider reports the same tokens whatever a request's size; sizes and costs are by our own count",
  implausible:
    "the tokens that the provider reports cannot be those of the requests; sizes and costs are by our own count",
  uncached:
    "the provider reports nothing from a cache; costs assume the cache that its prices promise: if it has none, set `prices` to `none` for its models",
};

/**
 * What a person is told where two processes work on one session.
 * @param {Extract<SessionEvent, { type: "session_split" }>} event
 * @param {string} host
 */
export function splitWords({ own }, host) {
  return own
    ? `this session runs in another ${host} too; this one goes on as a branch of its own`
    : `this session runs in another ${host} too, which goes on as a branch of its own: what is said there is not seen here`;
}

/** What a person is told of a pin that does not stand. @param {Extract<SessionEvent, { type: "pin_left_out" | "pin_ended" }>} event */
export function pinWords(event) {
  const what = `\`${event.handle}\` (${spelt(event.name)})`;
  return event.type === "pin_left_out"
    ? `pinned ${what} has no room in the window: the model does not see its ${shortCount(event.tokens)} tokens`
    : `${what} is no longer pinned, because ${event.why}`;
}
