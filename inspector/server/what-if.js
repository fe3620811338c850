// How a session is played again: as it was set, and as the page asks. Decides options only; the store plays.

/**
 * @import { Ledger, ReplayOptions, Settings, Timeline } from "../../index.js"
 */
import { pricePresets } from "../../index.js";
import { Refusal } from "./failures.js";

/** Settings that a replay in the layout `log` heeds, with their defaults. Others, such as paths, are not the page's to set. */
const heeded = /** @type {const} */ ([
  "keepResults",
  "collapseTokens",
  "extraShare",
  "extraTokens",
  "previewTokens",
  "previewReads",
  "activePerTurn",
  "activeTurns",
  "highWater",
  "firstTokenSeconds",
  "promptTokensPerSecond",
]);

/**
 * @param {Partial<Settings>} settings
 * @returns {{ [key: string]: unknown }}
 */
export function settingsOfWhatIf(settings) {
  return Object.fromEntries(heeded.filter((key) => key in settings).map((key) => [key, settings[key]]));
}

/**
 * @param {{ ledger: Ledger, timeline: Timeline, settings: Partial<Settings> }} known
 * @param {{ prices?: string, window?: number, settings?: { [key: string]: unknown } }} asked
 * @returns {{ before: ReplayOptions, after: ReplayOptions }}
 */
export function playedAgain({ ledger, timeline, settings }, asked) {
  const wrong = Object.keys(asked.settings ?? {}).find((key) => !heeded.some((known) => known === key));
  if (wrong !== undefined) {
    throw new Refusal("INVALID_ARGUMENT", `\`${wrong.slice(0, 60)}\` is no setting of a what-if`);
  }
  const before = {
    prices: presetOf(ledger),
    window: timeline.calls.findLast(({ contextWindow }) => contextWindow !== null)?.contextWindow ?? undefined,
    settings,
  };
  const after = {
    prices: asked.prices ?? before.prices,
    window: asked.window ?? before.window,
    settings: { ...settings, ...asked.settings },
  };
  return { before, after };
}

/**
 * The price table of the session; where it had another, the one that works like it.
 * @param {Ledger} ledger
 */
function presetOf({ prices }) {
  const known = pricePresets().find((name) => name === prices?.name);
  return known ?? (prices?.prices.reuse === "anyPrefix" ? "openai" : "anthropic");
}
