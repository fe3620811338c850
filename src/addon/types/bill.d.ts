// What calls cost.

/** Input tokens, and what they cost. Unless stated otherwise, costs are in multiples of the price of one uncached input token. */
export interface LedgerSums {
  sent: number;
  /** Read from the cache. */
  cached: number;
  /** Not read from the cache. */
  written: number;
  cost: number;
}

/** Requests that only kept the cache alive: what they cost, and what they would have cost the plain host. */
export interface LedgerWarming {
  requests: number;
  cost: number;
  plainCost: number;
}

/** What the provider reported. `estimatedCost` is the estimate for the same calls before they went out. */
export interface LedgerReported {
  calls: number;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  cost: number;
  estimatedCost: number;
}

/**
 * Sums in US dollars, of input only: each call at the prices of its own model. `calls`: those of models whose price is known; the
 * others are in no sum.
 */
export interface LedgerDollars {
  calls: number;
  bill: number;
  plainBill: number;
  overhead: number;
  warming: number;
  faults: number;
  reported: number;
  estimated: number;
}

/**
 * An epoch: the tokens that it freed, what its start cost, and what it has saved since, minus that cost, until the plain host would have
 * compacted away what it freed.
 */
export interface LedgerEpoch {
  number: number;
  call: number;
  reason: string;
  freed: number;
  cost: number;
  saved: number;
  /** `saved` in US dollars, as far as prices are known. */
  savedDollars: number | null;
}

/** How a need of what had left the window shows; a replay finds quotations alone. */
export type FaultKind = "asked" | "reread" | "repeated" | "failedEdit" | "quoted";

/**
 * Needs of what had left the window: the model asked for it with `activate` (whether it got it or not), read it again, ran the same
 * command again, its edit of such lines failed, or it wrote such lines without asking (quoted). `cost`: the calls made for them alone,
 * else the tokens that came again; these are in the bill as requests. `charged`: the part of `cost` that is in no request: quotations
 * are charged as if the model had asked.
 */
export interface LedgerFaults {
  count: number;
  cost: number;
  charged: number;
  kinds: Record<FaultKind, { count: number; cost: number }>;
}

/**
 * Calls that went out with the host's own messages: `failed` of them because something failed, the others while Palimpsest was off. They
 * are in both bills.
 */
export interface LedgerHostCalls {
  calls: number;
  failed: number;
  /** Tokens. */
  sent: number;
  cost: number;
  plainCost: number;
  /** `cost` in US dollars, as far as prices are known. */
  dollars: number;
}

/** Calls on branches of the conversation that were left since; they are in the bills. `dollars`: `cost` in US dollars, as far as known. */
export interface LedgerLeft {
  calls: number;
  cost: number;
  plainCost: number;
  dollars: number;
  plainDollars: number;
}

/** A call. `warm`: whether a cache was alive, of a request with the same model, system prompt and tools. `warming`: what kept its own alive. */
export interface LedgerCall {
  number: number;
  model: string | null;
  /** US dollars for a million uncached input tokens of its model, if known. */
  usdPerMillion: number | null;
  epoch: number;
  warm: boolean;
  ours: LedgerSums;
  /** The share of `ours` that our tools and guidance cost. */
  overhead: number;
  /** Where `extra` is set, `sent` is how large the request would be; the others are 0, and nothing of it is in the sums. */
  plain: LedgerSums;
  /** Whether the plain host would not have made the call: the model had used only our own tools. */
  extra: boolean;
  reported: LedgerReported | null;
  warming: LedgerWarming;
  faults: LedgerFaults;
  /** Calls before it that went out with the host's own messages. */
  hostCalls: LedgerHostCalls;
}

/**
 * What a session's calls cost beside the plain host: input only, in multiples of the price of one uncached input token. `bill` and
 * `plainBill` are the sums of requests, warming and, in `bill`, `faults.charged`.
 */
export interface Ledger {
  /** Number of calls in the bill: `perCall` and `hostCalls`. */
  calls: number;
  /** Number of calls that failed open: they went out with the host's own messages. */
  failedCalls: number;
  hostCalls: LedgerHostCalls;
  left: LedgerLeft;
  /** Number of the epoch, from 0. */
  epoch: number;
  /** Prices of the newest call. `name` is a preset, `own` for a table in the settings, or `model` for prices from the host. */
  prices: { name: string; prices: PriceTable; usdPerMillion?: number } | null;
  bill: number;
  plainBill: number;
  /** The share of `bill` that our tools and guidance cost. */
  overhead: number;
  ours: LedgerSums;
  plain: LedgerSums;
  /** How often the plain host would have compacted. */
  plainCompactions: number;
  warming: LedgerWarming;
  faults: LedgerFaults;
  reported: LedgerReported;
  /** Null if no call's price is known. */
  dollars: LedgerDollars | null;
  epochs: LedgerEpoch[];
  /**
   * What was saved besides `saved` of the epochs: by outputs shown in part from the start, and lines for text that stood already; plus
   * the plain host's compactions, minus overhead, warming and quotations. All together are `plainBill - bill`.
   */
  savedOtherwise: number;
  /** The same in US dollars, as far as prices are known. */
  savedOtherwiseDollars: number | null;
  perCall: LedgerCall[];
}

/** What a session cost, in short. Costs as in `Ledger`. `window`: tokens of the newest request, and of the plain host's. */
export interface SessionBill {
  bill: number;
  plainBill: number;
  dollars: LedgerDollars | null;
  faults: number;
  window: { ours: number; plain: number } | null;
}

/** A price table, in multiples of the price of one uncached input token; see the README. */
export interface PriceTable {
  read: number;
  write: number;
  reuse?: "anyPrefix" | "breakpoints";
  lifetimeSeconds?: number | null;
  tiers?: { aboveTokens: number; read: number; write: number }[];
}
