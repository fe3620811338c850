// `palimpsest ledger`: what a session's calls cost, beside plain Pi; each epoch, and each call.
import { plural } from "../../lib/describe.js";
import { faultCounts } from "../../lib/faults.js";
import { dollars as asMoney, reportedCalls, shortFigures } from "../../lib/figures.js";
import { isTerminal, write, writeJson } from "../lib/output.js";
import { withStore } from "../lib/store.js";
import { pairs, shownFigure, writeTable } from "../lib/table.js";

/** @typedef {import("../../index.js").Ledger} Ledger */

/** @type {import("../lib/arguments.js").Command} */
export const ledger = {
  name: "ledger",
  usage: "SESSION [--calls]",
  summary: "Show what the calls of a session cost, beside plain Pi",
  arguments: [1, 1],
  options: { calls: { type: "boolean", text: "list every call instead of sums" } },
  notes: [
    "SESSION is the ID of a session, the host's session ID, a unique prefix, or `latest`.",
    "Costs are of input only, counted in uncached input tokens; `dollars` has each call at the prices of its own model, where they are known. `plain` estimates what the same session would have cost without Palimpsest. Tokens are estimated before each call and corrected by what the provider reported of earlier calls; `reported` is what it reported of the same calls. `faults` are needs of what had left the window; what they cost is in the bill. `host` are calls that failed or were made while Palimpsest was off, with the host's own messages. `left` are calls on branches of the conversation that were left since. The calls that a session made before another was forked or parted from it are in the bill of both.",
    "With --calls, the columns are: call, epoch, whether the cache was warm, tokens sent, cached and written, cost, cost as reported (including cache warming), tokens and cost of plain Pi (0 where it would not make the call), cost of our overhead, faults.",
  ],
  json: "Ledger",
  examples: ["palimpsest ledger latest", "palimpsest ledger 0198c2f1 --calls"],
  async run(given) {
    await withStore(given, async (store) => {
      const found = await store.ledger(given.positionals[0]);
      if (given.json) {
        return writeJson(found);
      }
      await (given.values.calls === true ? writeCalls(found) : writeSums(found));
    });
  },
};

/** @param {Ledger} ledger */
async function writeSums({ epochs, ...ledger }) {
  const { ours, plain, overhead, warming, faults, reported, prices, dollars, hostCalls, left } = ledger;
  const ratio = ledger.plainBill > 0 ? (ledger.bill / ledger.plainBill).toFixed(3) : "-";
  const input = reported.input + reported.cacheRead + reported.cacheWrite;
  const hosts = hostCalls.calls > 0 ? `, ${hostCalls.calls} of them with the host's own messages` : "";
  const waiting = ledger.failedCalls - hostCalls.failed;
  const failed = waiting > 0 ? `, and ${waiting} failed` : "";
  // Less shown at first, and repeats that were not.
  const others = Math.round(ledger.savedOtherwise);
  const otherwise = others === 0 ? "" : `, ${shownFigure(others)} of them without an epoch`;
  await write(
    pairs({
      calls: `${ledger.calls}${hosts}${failed}`,
      prices: prices === null ? "-" : priced(prices),
      bill: `${uncached(ledger.bill)}; plain ${uncached(ledger.plainBill)}, ratio ${ratio}`,
      ...(dollars !== null && { dollars: inDollars(dollars, ledger) }),
      sent: sums(ours),
      plain: `${sums(plain)}, ${plural(ledger.plainCompactions, "compaction")}`,
      overhead: uncached(overhead),
      ...(warming.requests > 0 && {
        warming: `${plural(warming.requests, "request")}, cost ${uncached(warming.cost)}; plain cost ${uncached(warming.plainCost)}`,
      }),
      faults:
        faults.count === 0
          ? "none"
          : `${plural(faults.count, "fault")} (${faultCounts(faults)}), cost ${uncached(faults.cost)}`,
      ...(hostCalls.calls > 0 && {
        host: `cost ${uncached(hostCalls.cost)}; plain cost ${uncached(hostCalls.plainCost)}`,
      }),
      ...(left.calls > 0 && {
        left: `${plural(left.calls, "call")} on other branches, cost ${uncached(left.cost)}; plain cost ${uncached(left.plainCost)}`,
      }),
      saved: `${uncached(ledger.plainBill - ledger.bill)}${otherwise}`,
      reported:
        reported.calls === 0
          ? "nothing"
          : `${plural(reported.calls, "call")}, ${shownFigure(input)} tokens, ${shownFigure(reported.cacheRead)} cached, cost ${uncached(reported.cost)}; estimated ${uncached(reported.estimatedCost)}`,
    }),
  );
  const rows = epochs.map(({ number, call, freed, cost, saved, reason }) => [
    String(number),
    String(call),
    shownFigure(freed),
    shownFigure(cost),
    shownFigure(saved),
    isTerminal() ? shortFigures(reason) : reason,
  ]);
  const units = "FREED in tokens; COST and SAVED in uncached tokens";
  await writeTable(["EPOCH", "CALL", "FREED", "COST", "SAVED", "REASON"], rows, { units });
}

/** @param {Ledger} ledger */
async function writeCalls({ perCall }) {
  const headings = "CALL EPOCH CACHE SENT CACHED WRITTEN COST REPORTED PLAIN PLAIN-COST OVERHEAD FAULTS".split(" ");
  const rows = perCall.map(({ number, epoch, warm, ours, reported, warming, plain, overhead, faults }) => [
    String(number),
    String(epoch),
    warm ? "warm" : "cold",
    shownFigure(ours.sent),
    shownFigure(ours.cached),
    shownFigure(ours.written),
    shownFigure(ours.cost),
    reported === null ? "-" : shownFigure(reported.cost + warming.cost),
    shownFigure(plain.sent),
    shownFigure(plain.cost),
    shownFigure(overhead),
    String(faults.count),
  ]);
  const units = "sizes in tokens; costs and overhead in uncached tokens";
  await writeTable(headings, rows, { units });
}

/**
 * @param {import("../../index.js").LedgerDollars} dollars
 * @param {Pick<Ledger, "calls" | "perCall">} ledger
 */
function inDollars({ calls, bill, plainBill, reported, estimated }, ledger) {
  const of = calls < ledger.calls ? `, of ${calls} of ${plural(ledger.calls, "call")}` : "";
  const reports = reportedCalls(ledger);
  const same =
    reports === 0
      ? ""
      : `; reported ${asMoney(reported)} for ${plural(reports, "call")}, estimated ${asMoney(estimated)}`;
  return `${asMoney(bill)}; plain ${asMoney(plainBill)}${of}${same}`;
}

/** @param {import("../../index.js").LedgerSums} side */
function sums({ sent, cached, written, cost }) {
  return `${shownFigure(sent)} tokens, ${shownFigure(cached)} cached, ${shownFigure(written)} written, cost ${uncached(cost)}`;
}

/** What costs are counted in. @param {number} cost */
function uncached(cost) {
  return `${shownFigure(cost)} uncached tokens`;
}

/** What tokens cost that are written into the cache or read from it. @param {NonNullable<Ledger["prices"]>} table */
function priced({ name, prices: { write, read } }) {
  return `${name}: a written token costs ${write}, a cached one ${read} of an uncached one`;
}
