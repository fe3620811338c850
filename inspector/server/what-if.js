// How a session is played again: as it was set, and as the page asks. Decides options only; the store plays.

/**
 * @import { Ledger, ReplayOptions, Settings, Timeline } from "../../index.js"
 * @import { AsSet } from "../protocol.js"
 *
 * @typedef {{ ledger: Ledger, timeline: Timeline, settings: Settings }} Known
 * @typedef {{ prices?: string, window?: string, settings?: { [key: string]: unknown } }} Asked `window`: as the person wrote it
 */
import { pricePresets } from "../../index.js";
import { Refusal } from "./failures.js";

/** Settings that count when a session is played again. Others, such as paths, are not the page's to set. */
const heeded = /** @type {const} */ ([
  "layout",
  "keepResults",
  "collapseTokens",
  "extraShare",
  "extraTokens",
  "thrift",
  "previewTokens",
  "previewReads",
  "highWater",
  "firstTokenSeconds",
  "promptTokensPerSecond",
  "activePerTurn",
  "activeTurns",
  "poolTokens",
]);

/** The largest window, in tokens: as large as a setting that counts tokens may be. */
const mostWindow = 100_000_000;

/**
 * @param {Known} known
 * @returns {AsSet}
 */
export function asSet({ ledger, timeline, settings }) {
  return {
    presets: pricePresets(),
    prices: presetOf(ledger),
    window: timeline.calls.findLast(({ contextWindow }) => contextWindow !== null)?.contextWindow ?? null,
    settings: Object.fromEntries(heeded.map((key) => [key, settings[key]])),
  };
}

/**
 * @param {Known} known
 * @param {Asked} asked
 * @returns {{ before: ReplayOptions, after: ReplayOptions }}
 */
export function playedAgain(known, { prices, window, settings = {} }) {
  const wrong = Object.keys(settings).find((key) => !heeded.some((other) => other === key));
  if (wrong !== undefined) {
    throw new Refusal("INVALID_ARGUMENT", `\`${wrong.slice(0, 60)}\` is not a setting of a what-if`);
  }
  const set = asSet(known);
  return {
    before: options(set.prices, set.window, known.settings),
    after: options(prices ?? set.prices, window === undefined ? set.window : windowOf(window), {
      ...known.settings,
      ...settings,
    }),
  };
}

/**
 * @param {string} prices
 * @param {number | null} window
 * @param {Settings} settings
 * @returns {ReplayOptions}
 */
function options(prices, window, settings) {
  return { prices, window: window ?? undefined, layout: settings.layout, settings };
}

/** @param {string} given */
function windowOf(given) {
  const window = /^\d+$/.test(given) ? Number(given) : 0;
  if (window < 1 || window > mostWindow) {
    const is = `is \`${given.slice(0, 40)}\``;
    throw new Refusal("INVALID_ARGUMENT", `\`window\` must be a whole number from 1 to ${mostWindow}, ${is}`);
  }
  return window;
}

/**
 * The price table of the session; where it had another, the one that works like it.
 * @param {Ledger} ledger
 */
function presetOf({ prices }) {
  const known = pricePresets().find((name) => name === prices?.name);
  return known ?? (prices?.prices.reuse === "anyPrefix" ? "openai" : "anthropic");
}
