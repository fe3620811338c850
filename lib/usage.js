// What a person reads where a provider's reports of usage count for nothing.

/** @import { SessionEvent } from "../index.js" */

/** @type {Readonly<Record<Extract<SessionEvent, { type: "usage_ignored" }>["why"], string>>} */
export const usageIgnored = {
  none: "the provider reports no tokens for its calls; sizes and costs are by our own count",
  constant: "the provider reports the same tokens whatever a request's size; sizes and costs are by our own count",
  implausible:
    "the tokens that the provider reports cannot be those of the requests; sizes and costs are by our own count",
  uncached: "the provider reports that its cache never holds anything; costs assume the cache that its prices promise",
};
