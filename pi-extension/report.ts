// The text that `/context` shows: the window, the bill beside plain Pi's, the overhead, faults, and what each epoch saved.
import type { Ledger, SessionStatus } from "./addon.ts";
import { shortCount } from "./status.ts";

/** Number of epochs to list, the newest; earlier ones are only counted. */
const listedEpochs = 12;

/** The report, several lines. */
export function contextReport(status: SessionStatus, ledger: Ledger): string {
  if (ledger.calls === 0) {
    return "No call yet.";
  }
  return [...windowLines(status), ...billLines(ledger), ...epochLines(ledger)].join("\n");
}

function windowLines({ windowTokens, plainTokens, activeObjects, pinnedObjects }: SessionStatus): string[] {
  const objects = `${activeObjects} active, ${pinnedObjects} pinned`;
  return [`window  ${shortCount(windowTokens)} tokens of messages, plain Pi ${shortCount(plainTokens)}; ${objects}`];
}

function billLines(ledger: Ledger): string[] {
  const { bill, plainBill, overhead, ours, plain, prices, warming, faults, reported, plainCompactions } = ledger;
  const cost = (value: number) => money(value, prices?.usdPerMillion);
  const unit = prices?.usdPerMillion === undefined ? " uncached input tokens" : "";
  const lines = [
    `bill    ${cost(bill)}${unit}, plain Pi ${cost(plainBill)} (${ratio(bill, plainBill)}); ${counted(ledger.calls, "call")}, prices: ${prices?.name ?? "-"}`,
    `        of it ${cost(overhead)} for our tools and guidance`,
    `tokens  ${shortCount(ours.sent)} sent in all, ${percent(ours.cached, ours.sent)} cached; plain Pi ${shortCount(plain.sent)}, ${percent(plain.cached, plain.sent)} cached${plainCompactions > 0 ? `, ${counted(plainCompactions, "compaction")}` : ""}`,
  ];
  if (reported.calls > 0) {
    const sent = shortCount(reported.input + reported.cacheRead + reported.cacheWrite);
    lines.push(
      `        the provider reports ${sent} and ${cost(reported.cost)} for ${counted(reported.calls, "call")}, which were estimated at ${cost(reported.estimatedCost)}`,
    );
  }
  if (warming.requests > 0) {
    lines.push(`        of it ${cost(warming.cost)} for ${counted(warming.requests, "request")} to keep the cache`);
  }
  if (ledger.failedCalls > 0) {
    const were =
      ledger.failedCalls === 1
        ? "1 call went out with Pi's own messages and is"
        : `${ledger.failedCalls} calls went out with Pi's own messages and are`;
    lines.push(`        ${were} not counted`);
  }
  lines.push(`faults  ${faults.count}${faults.count > 0 ? `, ${cost(faults.cost)}` : ""}`);
  return lines;
}

function epochLines({ epoch, epochs, prices }: Ledger): string[] {
  const shown = epochs.slice(-listedEpochs);
  const earlier = epochs.length - shown.length;
  const lines = shown.map(
    ({ number, call, reason, freed, saved }) =>
      `        ${number} at call ${call}: ${reason}; freed ${shortCount(freed)}, ${savedSoFar(saved, prices?.usdPerMillion)}`,
  );
  return [`epochs  ${epoch}${earlier > 0 ? ` (the first ${earlier} are not listed)` : ""}`, ...lines];
}

/** A cost: in dollars if the price of a token is known, else in uncached input tokens. */
function money(cost: number, usdPerMillion: number | undefined): string {
  if (usdPerMillion === undefined) {
    return `${cost < 0 ? "-" : ""}${shortCount(Math.round(Math.abs(cost)))}`;
  }
  const dollars = (cost * usdPerMillion) / 1_000_000;
  return `${dollars < 0 ? "-" : ""}$${Math.abs(dollars).toFixed(3)}`;
}

/** An epoch costs the rewrite first, and earns it back with every call after it. */
function savedSoFar(saved: number, usdPerMillion: number | undefined): string {
  const amount = money(Math.abs(saved), usdPerMillion);
  return saved < 0 ? `${amount} not yet earned back` : `saved ${amount} so far`;
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

function ratio(cost: number, plain: number): string {
  return plain > 0 ? (cost / plain).toFixed(2) : "-";
}

function percent(part: number, whole: number): string {
  return `${Math.round((100 * part) / Math.max(whole, 1))} %`;
}
