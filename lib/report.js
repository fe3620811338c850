// What a person reads of a session: the window, what was paid beside the plain host, what the model missed, and the epochs; the settings,
// with who set them, and what is shared. Every figure has its unit. Decides nothing.
import { faultDeeds } from "./faults.js";
import { dollars, reportedCalls, shortCount, shortFigures } from "./figures.js";
import { sharingLines } from "./sharing.js";
import { name } from "./terminal.js";
import { counted, cut, percent, shortPath } from "./words.js";

/**
 * @import { Ledger, LedgerEpoch, Session, SessionStatus, Settings, SettingValue, TokensByKind } from "../index.js"
 */

/** Number of epochs to list, the newest; earlier ones are only counted. */
const listedEpochs = 12;
/** Characters of a value that are shown. */
const maxValue = 60;

/**
 * What is known of the window besides.
 * @typedef {object} WindowFacts
 * @property {string} host its name
 * @property {number} [contextWindow] of the model, in tokens; 0 or undefined if it is not known
 * @property {Settings["layout"]} layout
 * @property {Settings["thrift"]} thrift
 * @property {Settings["faultTokens"]} faultTokens
 * @property {TokensByKind} [kinds] tokens of the last request by kind of content, if known
 */

/**
 * The report, several lines.
 * @param {SessionStatus} status
 * @param {Ledger} ledger
 * @param {WindowFacts} window
 */
export function contextReport(status, ledger, window) {
  if (ledger.calls === 0) {
    return "Palimpsest is on. No call to the model yet.";
  }
  return [
    ...windowLines(status, window),
    ...costLines(ledger, window.host),
    ...tokenLines(ledger, window.host),
    ...missingLines(ledger),
    ...epochLines(ledger, window),
  ].join("\n");
}

/** @param {SessionStatus} status @param {WindowFacts} window */
function windowLines(status, { host, contextWindow, layout, thrift, faultTokens, kinds }) {
  const { requestTokens, plainRequestTokens, activeObjects, indexedObjects, namedFiles, pinnedObjects } = status;
  const byName = namedFiles === 0 ? "" : ` (and ${counted(namedFiles, "file")} by name only)`;
  const of = !contextWindow ? "" : `, of ${shortCount(contextWindow)} that the model takes`;
  const tokens = `${shortCount(requestTokens)} tokens in the last request${of}; plain ${host} ${shortCount(plainRequestTokens)}`;
  return section("window", [
    tokens,
    ...(kinds === undefined ? [] : [kindsLine(kinds, host)]),
    `files and outputs met: ${shortCount(indexedObjects - namedFiles)}${byName}; with their text in the window: ${shortCount(activeObjects)}; pinned: ${shortCount(pinnedObjects)}`,
    layout === "log" ? thriftLine(thrift, faultTokens) : `layout \`${layout}\``,
  ]);
}

/** What recorded sessions cost without a window limit at OpenAI's prices, and how often something was missing (docs/policy.md). */
const measured = {
  careful: "0.47 of plain, and 0.8 % of their calls missed something",
  balanced: "0.41 of plain, and 1.2 % of their calls missed something",
  thrifty: "0.36 of plain, and 1.9 % of their calls missed something",
};

/** @param {Settings["thrift"]} thrift @param {number} faultTokens */
function thriftLine(thrift, faultTokens) {
  return faultTokens > 0
    ? `a need of what has left weighs ${shortCount(faultTokens)} tokens, by your setting \`faultTokens\``
    : `thrift \`${thrift}\`: with it recorded sessions cost ${measured[thrift]}`;
}

/** By our count, which is not the provider's: the shares are what matters. @param {TokensByKind} kinds @param {string} host */
function kindsLine(kinds, host) {
  const names = {
    outputs: "outputs",
    files: "text of files",
    references: "lines in the place of outputs",
    model: "the model's words and calls",
    person: `your words and ${host}'s`,
    notes: "notes of ours",
    prompt: "system prompt and tools",
  };
  const all = /** @type {(keyof typeof names)[]} */ (Object.keys(names));
  const present = all.filter((kind) => kinds[kind] > 0).sort((one, other) => kinds[other] - kinds[one]);
  const whole = present.reduce((sum, kind) => sum + kinds[kind], 0);
  const shown = present.map((kind) => `${names[kind]} ${shortCount(kinds[kind])} (${percent(kinds[kind], whole)})`);
  return `by kind, as we count: ${shown.join(", ")}`;
}

/** Where prices are known in dollars; else in multiples of the price of an input token. @param {Ledger} ledger @param {string} host */
function costLines(ledger, host) {
  const lines = ledger.dollars === null ? unpricedLines(ledger, host) : pricedLines(ledger, ledger.dollars, host);
  return section("cost", [...lines, ...apartLines(ledger, host)]);
}

/** What is in the bill besides calls of the present branch with our messages. @param {Ledger} ledger @param {string} host */
function apartLines({ dollars: sums, hostCalls, failedCalls, left }, host) {
  /** @param {number} inDollars @param {number} cost */
  const amount = (inDollars, cost) => (sums === null ? asMuch(cost) : dollars(inDollars));
  const lines = [];
  if (hostCalls.calls > 0) {
    const failed =
      hostCalls.failed > 0 ? `, ${counted(hostCalls.failed, "call")} of them because something failed` : "";
    const cost = amount(hostCalls.dollars, hostCalls.cost);
    lines.push(`in it: ${cost} for ${counted(hostCalls.calls, "call")} with ${host}'s own messages${failed}`);
  }
  if (failedCalls > hostCalls.failed) {
    const waiting = counted(failedCalls - hostCalls.failed, "call");
    lines.push(`not in it yet: ${waiting} that went out with ${host}'s own messages`);
  }
  if (left.calls > 0) {
    const [cost, plain] = [amount(left.dollars, left.cost), amount(left.plainDollars, left.plainCost)];
    lines.push(`in it: ${cost} for ${counted(left.calls, "call")} on branches that were left; plain ${host} ${plain}`);
  }
  return lines;
}

/** @param {number} cost */
function asMuch(cost) {
  return `as much as ${counted(Math.round(cost), "new input token")}`;
}

/** @param {Ledger} ledger @param {NonNullable<Ledger["dollars"]>} sums @param {string} host */
function pricedLines(ledger, sums, host) {
  const { calls, warming, prices } = ledger;
  const reports = reportedCalls(ledger);
  const lines = [
    `${dollars(sums.bill)} for input so far; plain ${host} ${dollars(sums.plainBill)}${difference(sums.bill, sums.plainBill)}`,
    `in it: ${dollars(sums.overhead)} for our tools and guidance`,
  ];
  if (warming.requests > 0) {
    lines.push(`in it: ${dollars(sums.warming)} for ${counted(warming.requests, "request")} that kept the cache warm`);
  }
  if (reports > 0) {
    const same = `estimated before at ${dollars(sums.estimated)}`;
    lines.push(`the provider reports ${dollars(sums.reported)} for the input of ${counted(reports, "call")}, ${same}`);
  }
  if (sums.calls < calls) {
    lines.push(`not in it: ${counted(calls - sums.calls, "call")} to models that are free or whose price is not known`);
  }
  lines.push(`each call at the prices of its model; those of the newest: ${pricesName(prices?.name, host)}`);
  return lines;
}

/** @param {Ledger} ledger @param {string} host */
function unpricedLines({ bill, plainBill, overhead, warming, prices }, host) {
  const lines = [
    `no price in dollars is known; ${asMuch(bill)}, plain ${host} ${shortCount(Math.round(plainBill))}${difference(bill, plainBill)}`,
    `in it: ${asMuch(overhead)} for our tools and guidance`,
  ];
  if (warming.requests > 0) {
    lines.push(`in it: ${asMuch(warming.cost)} for ${counted(warming.requests, "request")} that kept the cache warm`);
  }
  lines.push(`what tokens from the cache cost beside new ones: ${pricesName(prices?.name, host)}`);
  return lines;
}

/** @param {number} ours @param {number} plain */
function difference(ours, plain) {
  const share = percent(Math.abs(plain - ours), plain);
  if (plain <= 0 || share === "0 %") {
    return ", the same";
  }
  return plain > ours ? `, so ${share} saved` : `, so ${share} more`;
}

/** @param {string | undefined} name @param {string} host */
function pricesName(name, host) {
  switch (name) {
    case "model":
      return `from ${host}'s model data`;
    case "own":
      return "from your setting `prices`";
    case "local":
      return "nothing, by the preset `local`; if you pay for the tokens of this model, say so with the setting `prices`";
    default:
      return `the preset \`${name ?? "-"}\``;
  }
}

/** @param {Ledger} ledger @param {string} host */
function tokenLines({ calls, ours, plain, plainCompactions, reported }, host) {
  /** @param {{ sent: number, cached: number }} side */
  const cached = (side) => `${percent(side.cached, side.sent)} from the cache`;
  const lines = [
    `${shortCount(ours.sent)} sent in ${counted(calls, "call")}, ${cached(ours)}; plain ${host} ${shortCount(plain.sent)}, ${cached(plain)}`,
  ];
  if (reported.calls > 0) {
    const input = reported.input + reported.cacheRead + reported.cacheWrite;
    lines.push(`the provider reports ${shortCount(input)} for ${counted(reported.calls, "call")}`);
  }
  if (plainCompactions > 0) {
    lines.push(`plain ${host} would have compacted ${times(plainCompactions)}`);
  }
  return section("tokens", lines);
}

/** @param {Ledger} ledger */
function missingLines({ faults, dollars: sums }) {
  if (faults.count === 0) {
    return section("missing", ["nothing: the model never had to ask for what had left"]);
  }
  const cost = sums === null ? asMuch(faults.cost) : `about ${dollars(sums.faults)}`;
  const what = `the model needed what had left ${times(faults.count)}: it ${faultDeeds(faults)}`;
  return section("missing", [what, `in the bill for that: ${cost}`]);
}

/** @param {Ledger} ledger @param {WindowFacts} window */
function epochLines({ epochs, ...ledger }, { host, layout }) {
  const other = otherLine(ledger, host);
  if (epochs.length === 0) {
    const none =
      layout === "log" ? "so far every request continued the one before" : `the layout \`${layout}\` has none`;
    return section("epochs", [`none: ${none}`, other]);
  }
  const shown = epochs.slice(-listedEpochs);
  const earlier = epochs.length - shown.length;
  const freeing = epochs.filter(({ freed }) => freed > 0).length;
  const left = freeing === 0 ? "nothing left the window so far" : `content left the window ${times(freeing)}`;
  const first = `${left}${earlier > 0 ? `; the newest ${shown.length} epochs:` : ":"}`;
  return section("epochs", [first, ...shown.map(epochLine), other]);
}

/**
 * What was saved, or paid, besides what the epochs saved.
 * @param {Pick<Ledger, "savedOtherwise" | "savedOtherwiseDollars" | "plainCompactions">} ledger
 * @param {string} host
 */
function otherLine({ savedOtherwise: saved, savedOtherwiseDollars: savedDollars, plainCompactions }, host) {
  const amount = savedDollars === null ? asMuch(Math.abs(saved)) : dollars(Math.abs(savedDollars));
  const how = `${amount} ${(savedDollars ?? saved) < 0 ? "more" : "saved"}`;
  const compactions = plainCompactions > 0 ? `, and plain ${host}'s compactions` : "";
  return `otherwise ${how}: outputs shown in part from the start${compactions}, less what we add`;
}

/** @param {LedgerEpoch} epoch */
function epochLine({ number, call, reason, freed, saved, savedDollars }) {
  const what = freed === 0 ? "nothing left" : `freed ${shortCount(freed)} tokens; ${savedSoFar(saved, savedDollars)}`;
  return `${number}, at call ${call}: ${what} (${shortFigures(reason)})`;
}

/** An epoch costs the rewrite first, and earns it back with every call after it. @param {number} saved @param {number | null} savedDollars */
function savedSoFar(saved, savedDollars) {
  const amount = savedDollars === null ? asMuch(Math.abs(saved)) : dollars(Math.abs(savedDollars));
  return (savedDollars ?? saved) < 0 ? `its rewrite has yet to earn back ${amount}` : `saved ${amount} so far`;
}

/** @param {number} count */
function times(count) {
  return count === 1 ? "once" : `${shortCount(count)} times`;
}

/**
 * How the session's store stands with the shared one; no lines where nothing is shared, or that cannot be told.
 * @param {Pick<Session, "sharing">} session
 */
export async function sharingSection(session) {
  const status = await session.sharing().catch(() => null);
  return status === null ? [] : section("shared", sharingLines(status));
}

/** Lines under a heading that stands before the first. @param {string} heading @param {string[]} lines */
function section(heading, lines) {
  return lines.map((line, at) => `${(at === 0 ? heading : "").padEnd(9)} ${line}`);
}

/**
 * A setting with who set it; `place`, where that is said in words: as it stands in the host's own configuration.
 * @typedef {Omit<SettingValue, "source"> & { source: SettingValue["source"] | "config" | "session" }} ShownSetting
 */

/**
 * Those that somebody set, then the others; only those whose key holds `filter`.
 * @param {readonly ShownSetting[]} values
 * @param {string} filter
 */
export function settingsText(values, filter) {
  const fitting = values.filter(({ key }) => key.toLowerCase().includes(filter.toLowerCase()));
  if (fitting.length === 0) {
    return `No setting fits \`${filter}\`.`;
  }
  /** @param {ShownSetting} setting */
  const row = (setting) =>
    `${setting.key.padEnd(22)} ${cut(JSON.stringify(setting.value), maxValue)}  (${source(setting)})`;
  /** @param {ShownSetting} setting */
  const isSet = (setting) => setting.source !== "default";
  return [...fitting.filter(isSet), ...fitting.filter((setting) => !isSet(setting))].map(row).join("\n");
}

/** @param {ShownSetting} setting */
function source({ source: from, place = "" }) {
  switch (from) {
    case "default":
      return "default";
    case "environment":
      return `set by the environment, \`${place}\``;
    case "session":
      return `set here by \`${name(place)}\``;
    case "config":
      return `set in \`${name(place)}\``;
    default:
      return `set by ${from === "user" ? "your" : "the project's"} file, \`${name(shortPath(place))}\``;
  }
}
