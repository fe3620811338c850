// What a person reads before the host's own messages go out in a session that had grown long: how large the request is, what it costs, and
// that the host may compact. Decides nothing.
import { dollars, shortCount } from "./figures.js";
import { percent } from "./words.js";

/** Below this many tokens there is nothing to say. */
const longTokens = 20_000;

/** Hosts compact where fewer tokens of the window than these are left. */
const reservedTokens = 16_384;

/**
 * {@link plainRequestText} of an open session.
 * @param {string} host its name
 * @param {import("../index.js").SessionStatus} status
 * @param {number | undefined} contextWindow
 */
export function plainRequestOf(host, status, contextWindow) {
  const { hostRequestTokens: tokens, hostRequestDollars, requestTokens: before } = status;
  return plainRequestText({ host, tokens, dollars: hostRequestDollars, contextWindow, before });
}

/**
 * One or two sentences; undefined where the request is small.
 * @param {object} request
 * @param {string} request.host its name
 * @param {number} request.tokens of the request with the host's own messages
 * @param {number | null} [request.dollars] what it costs where no cache holds any of it, if that is known
 * @param {number} [request.contextWindow] of the model, in tokens; 0 or undefined if it is not known
 * @param {number} [request.before] tokens of the last request with ours, if there was one
 */
export function plainRequestText({ host, tokens, dollars: cost, contextWindow, before }) {
  if (tokens < longTokens) {
    return undefined;
  }
  const instead = before === undefined ? "" : ` instead of ${shortCount(before)}`;
  const of = contextWindow
    ? `, ${percent(tokens, contextWindow)} of the ${shortCount(contextWindow)} that the model takes`
    : "";
  const paid = cost ? ` The first call costs about ${dollars(cost)}, since no cache holds it.` : "";
  const isTight = Boolean(contextWindow) && tokens > Number(contextWindow) - reservedTokens;
  const compacts = isTight ? ` ${host} may compact before it.` : "";
  return `The next request has about ${shortCount(tokens)} tokens${instead}${of}.${paid}${compacts}`;
}
