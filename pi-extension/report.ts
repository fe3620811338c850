// What `/context` shows: the window, what was paid beside plain Pi, what the model missed, and the epochs; and the settings, with who set
// them. Every figure has its unit. Pure.
import type { windowParts } from "../lib/window.js";
import type { Ledger, LedgerEpoch, SessionStatus, Settings, SettingValue } from "./addon.ts";
import { counted, cut, dollars, percent, shortCount, shortPath } from "./words.ts";

/** Number of epochs to list, the newest; earlier ones are only counted. */
const listedEpochs = 12;
/** Characters of a value that are shown. */
const maxValue = 60;

/** What is known of the window besides. */
export interface WindowFacts {
  /** Of the model, in tokens; 0 or undefined if it is not known. */
  readonly contextWindow?: number;
  readonly layout: Settings["layout"];
  /** Tokens of the last request by kind of content, if known. */
  readonly parts?: ReturnType<typeof windowParts>;
}

/** The report, several lines. */
export function contextReport(status: SessionStatus, ledger: Ledger, window: WindowFacts): string {
  if (ledger.calls === 0) {
    return "Palimpsest is on. No call to the model yet.";
  }
  return [
    ...windowLines(status, window),
    ...costLines(ledger),
    ...tokenLines(ledger),
    ...missingLines(ledger),
    ...epochLines(ledger),
  ].join("\n");
}

function windowLines(status: SessionStatus, { contextWindow, layout, parts }: WindowFacts): string[] {
  const { requestTokens, plainRequestTokens, activeObjects, indexedObjects, pinnedObjects } = status;
  const of = !contextWindow ? "" : `, of ${shortCount(contextWindow)} that the model takes`;
  const tokens = `${shortCount(requestTokens)} tokens in the last request${of}; plain Pi ${shortCount(plainRequestTokens)}`;
  return section("window", [
    tokens,
    ...(parts === undefined ? [] : [partsLine(parts)]),
    `files and outputs met: ${shortCount(indexedObjects)}; with their text in the window: ${shortCount(activeObjects)}; pinned: ${shortCount(pinnedObjects)}`,
    ...(layout === "log" ? [] : [`layout \`${layout}\``]),
  ]);
}

/** By our count, which is not the provider's: the shares are what matters. */
function partsLine(parts: NonNullable<WindowFacts["parts"]>): string {
  const names = {
    outputs: "outputs",
    lines: "lines in the place of outputs",
    model: "the model's words and calls",
    person: "your words",
    prompt: "system prompt and tools",
    rest: "everything else",
  };
  const all = Object.keys(names) as (keyof typeof names)[];
  const kinds = all.filter((kind) => parts[kind] > 0).sort((one, other) => parts[other] - parts[one]);
  const whole = kinds.reduce((sum, kind) => sum + parts[kind], 0);
  const shown = kinds.map((kind) => `${names[kind]} ${shortCount(parts[kind])} (${percent(parts[kind], whole)})`);
  return `by kind, as we count: ${shown.join(", ")}`;
}

/** Where prices are known in dollars; else in multiples of the price of an input token. */
function costLines(ledger: Ledger): string[] {
  const lines = ledger.dollars === null ? unpricedLines(ledger) : pricedLines(ledger, ledger.dollars);
  if (ledger.failedCalls > 0) {
    lines.push(`not in it: ${counted(ledger.failedCalls, "call")} that went out with Pi's own messages`);
  }
  return section("cost", lines);
}

function pricedLines(ledger: Ledger, sums: NonNullable<Ledger["dollars"]>): string[] {
  const { calls, warming, reported, prices } = ledger;
  const lines = [
    `${dollars(sums.bill)} for input so far; plain Pi ${dollars(sums.plainBill)}${difference(sums.bill, sums.plainBill)}`,
    `in it: ${dollars(sums.overhead)} for our tools and guidance`,
  ];
  if (warming.requests > 0) {
    lines.push(`in it: ${dollars(sums.warming)} for ${counted(warming.requests, "request")} that kept the cache warm`);
  }
  if (reported.calls > 0) {
    const same = `estimated before at ${dollars(sums.estimated)}`;
    lines.push(
      `the provider reports ${dollars(sums.reported)} for the input of ${counted(reported.calls, "call")}, ${same}`,
    );
  }
  if (sums.calls < calls) {
    lines.push(`not in it: ${counted(calls - sums.calls, "call")} to models that are free or whose price is not known`);
  }
  lines.push(`by the prices of each call's own model; those of the newest: ${pricesName(prices?.name)}`);
  return lines;
}

function unpricedLines({ bill, plainBill, overhead, warming, prices }: Ledger): string[] {
  const asMuch = (cost: number) => `as much as ${counted(Math.round(cost), "new input token")}`;
  const lines = [
    `no price in dollars is known; ${asMuch(bill)}, plain Pi ${shortCount(Math.round(plainBill))}${difference(bill, plainBill)}`,
    `in it: ${asMuch(overhead)} for our tools and guidance`,
  ];
  if (warming.requests > 0) {
    lines.push(`in it: ${asMuch(warming.cost)} for ${counted(warming.requests, "request")} that kept the cache warm`);
  }
  lines.push(`what tokens from the cache cost beside new ones: ${pricesName(prices?.name)}`);
  return lines;
}

function difference(ours: number, plain: number): string {
  const share = percent(Math.abs(plain - ours), plain);
  if (plain <= 0 || share === "0 %") {
    return ", the same";
  }
  return plain > ours ? `, so ${share} saved` : `, so ${share} more`;
}

function pricesName(name: string | undefined): string {
  switch (name) {
    case "model":
      return "from Pi's model data";
    case "own":
      return "from your setting `prices`";
    default:
      return `the preset \`${name ?? "-"}\``;
  }
}

function tokenLines({ calls, ours, plain, plainCompactions, reported }: Ledger): string[] {
  const cached = (side: { sent: number; cached: number }) => `${percent(side.cached, side.sent)} from the cache`;
  const lines = [
    `${shortCount(ours.sent)} sent in ${counted(calls, "call")}, ${cached(ours)}; plain Pi ${shortCount(plain.sent)}, ${cached(plain)}`,
  ];
  if (reported.calls > 0) {
    const input = reported.input + reported.cacheRead + reported.cacheWrite;
    lines.push(`the provider reports ${shortCount(input)} for ${counted(reported.calls, "call")}`);
  }
  if (plainCompactions > 0) {
    lines.push(`plain Pi would have compacted ${times(plainCompactions)}`);
  }
  return section("tokens", lines);
}

function missingLines({ faults, dollars: sums }: Ledger): string[] {
  if (faults.count === 0) {
    return section("missing", ["nothing: the model never had to ask for what had left"]);
  }
  const cost =
    sums === null
      ? `as much as ${counted(Math.round(faults.cost), "new input token")}`
      : `about ${dollars(sums.faults)}`;
  return section("missing", [
    `the model needed what had left ${times(faults.count)} and asked for it again, which cost ${cost}`,
  ]);
}

function epochLines({ epochs }: Ledger): string[] {
  if (epochs.length === 0) {
    return section("epochs", ["none: so far every request continued the one before"]);
  }
  const shown = epochs.slice(-listedEpochs);
  const earlier = epochs.length - shown.length;
  const first = `content left the window ${times(epochs.length)}${earlier > 0 ? `; the newest ${shown.length}:` : ":"}`;
  return section("epochs", [first, ...shown.map(epochLine)]);
}

function epochLine({ number, call, reason, freed, saved, savedDollars }: LedgerEpoch): string {
  return `${number}, at call ${call}: freed ${shortCount(freed)} tokens; ${savedSoFar(saved, savedDollars)} (${reason})`;
}

/** An epoch costs the rewrite first, and earns it back with every call after it. */
function savedSoFar(saved: number, savedDollars: number | null): string {
  const amount =
    savedDollars === null
      ? `as much as ${counted(Math.round(Math.abs(saved)), "new input token")}`
      : dollars(Math.abs(savedDollars));
  return (savedDollars ?? saved) < 0 ? `its rewrite has yet to earn back ${amount}` : `saved ${amount} so far`;
}

function times(count: number): string {
  return count === 1 ? "once" : `${shortCount(count)} times`;
}

/** Lines under a heading that stands before the first. */
function section(heading: string, lines: string[]): string[] {
  return lines.map((line, at) => `${(at === 0 ? heading : "").padEnd(9)} ${line}`);
}

/** Those that somebody set, then the others; only those whose key holds `filter`. `layout`: of this session, where the person chose it. */
export function settingsText(values: readonly SettingValue[], filter: string, layout: string | undefined): string {
  const fitting = values.filter(({ key }) => key.toLowerCase().includes(filter.toLowerCase()));
  if (fitting.length === 0) {
    return `No setting fits \`${filter}\`.`;
  }
  const isHere = ({ key }: SettingValue) => key === "layout" && layout !== undefined;
  const row = (setting: SettingValue) => {
    const [value, from] = isHere(setting)
      ? [JSON.stringify(layout), "set here by `/context layout`"]
      : [cut(JSON.stringify(setting.value), maxValue), source(setting)];
    return `${setting.key.padEnd(22)} ${value}  (${from})`;
  };
  const isSet = (setting: SettingValue) => setting.source !== "default" || isHere(setting);
  return [...fitting.filter(isSet), ...fitting.filter((setting) => !isSet(setting))].map(row).join("\n");
}

function source({ source: from, place = "" }: SettingValue): string {
  switch (from) {
    case "default":
      return "default";
    case "environment":
      return `set by the environment, \`${place}\``;
    default:
      return `set by ${from === "user" ? "your" : "the project's"} file, \`${shortPath(place)}\``;
  }
}
