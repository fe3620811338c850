// The demo's figures as text, and its checks. Pure: two runs in, lines and verdicts out.
import { bill, cachedTokens, contentText, countRewrites, measureCalls, prices, unpairedCalls } from "./measure.js";
import { repeatedRanges } from "./standing-ranges.js";

/**
 * @typedef {import("./demo-run.js").DemoRun} DemoRun
 * @typedef {Pick<DemoRun, "bodies" | "session">} Played
 * @typedef {{ what: string, holds: boolean, found: string }} Check
 */

const shownLines = 12;

/**
 * What must hold over the demo's session.
 * @param {Played} plain
 * @param {Played} ours
 * @returns {Check[]}
 */
export function runChecks(plain, ours) {
  const unpaired = ours.bodies.flatMap(unpairedCalls);
  const repeated = ours.bodies.flatMap((body) => repeatedRanges(body, ours.session.reads));
  const repeatedPlain = plain.bodies.flatMap((body) => repeatedRanges(body, plain.session.reads));
  const [example] = repeated;
  const [plainCalls, ourCalls] = [measureCalls(plain.bodies), measureCalls(ours.bodies)];
  const ratios = prices.map((price) => bill(ourCalls, price) / bill(plainCalls, price));
  return [
    check(
      "at least 40 calls, as many in both runs",
      ours.bodies.length >= 40 && plain.bodies.length === ours.bodies.length,
      `${plain.bodies.length} and ${ours.bodies.length}`,
    ),
    check("every tool call has exactly one result", unpaired.length === 0, `${unpaired.length} without`),
    check(
      "no file range stands twice",
      repeated.length === 0,
      `${repeated.length} times over all requests, plain ${repeatedPlain.length}` +
        (example === undefined ? "" : `; such as ${example.path}:${example.range.first}-${example.range.last}`),
    ),
    check(
      "something collapsed was brought back",
      ours.session.broughtBack.length > 0,
      `${ours.session.broughtBack.length} times`,
    ),
    check(
      "the bill is below the plain one",
      ratios.every((ratio) => ratio < 1),
      ratios.map((ratio) => ratio.toFixed(3)).join(" and "),
    ),
  ];
}

/**
 * @param {string} what
 * @param {boolean} holds
 * @param {string} found
 * @returns {Check}
 */
function check(what, holds, found) {
  return { what, holds, found };
}

/**
 * One line per call, then totals and bills.
 * @param {Played} plain
 * @param {Played} ours
 * @returns {string[]}
 */
export function describeCosts(plain, ours) {
  const [plainCalls, ourCalls] = [measureCalls(plain.bodies), measureCalls(ours.bodies)];
  const price = prices[1];
  const cells = (/** @type {import("./measure.js").CallCost} */ call) =>
    `${count(call.sent)}  ${share(cachedTokens(call, price), call.sent)}`;
  const rows = ourCalls.map((call, n) => {
    const left = plainCalls[n] === undefined ? " ".repeat(15) : cells(plainCalls[n]);
    return `${String(n + 1).padStart(4)}  ${left}   ${cells(call)}${call.grew ? "" : "  new epoch"}`;
  });
  const total = (/** @type {import("./measure.js").CallCost[]} */ calls) =>
    calls.reduce((sum, call) => sum + call.sent, 0);
  const bills = prices.map((each) => {
    const [plainBill, ourBill] = [bill(plainCalls, each), bill(ourCalls, each)];
    return `bill, ${each.name}: plain ${count(plainBill)}, with ${count(ourBill)}, ratio ${(ourBill / plainBill).toFixed(3)}`;
  });
  return [
    "tokens sent per call (a token is 4 characters) and the share that prefix caching serves",
    "call          plain              with Palimpsest",
    ...rows,
    "",
    `total tokens sent: plain ${count(total(plainCalls))}, with ${count(total(ourCalls))}`,
    ...bills,
    `epochs with Palimpsest: ${countRewrites(ourCalls) + 1} (plain: ${countRewrites(plainCalls) + 1})`,
  ];
}

/**
 * A collapsed output and what `activate` gave, as the model saw them.
 * @param {Played} ours
 * @returns {string[]}
 */
export function describeBroughtBack({ bodies, session }) {
  const [first] = session.broughtBack;
  if (first === undefined) {
    return ["nothing was collapsed when the model looked for it"];
  }
  const answer = bodies.flatMap((body) => body.messages).find((message) => message.tool_call_id === first.callId);
  const lines = (answer === undefined ? "" : contentText(answer)).split("\n");
  const rest = lines.length - shownLines;
  return [
    "what stood in the place of a collapsed output:",
    `  ${first.referenceLine}`,
    "what activating it brought into the next request:",
    ...lines.slice(0, shownLines).map((line) => `  ${line}`),
    ...(rest > 0 ? [`  … ${rest} more lines`] : []),
  ];
}

/** @param {number} tokens */
function count(tokens) {
  return Math.round(tokens).toLocaleString("en-US").padStart(9);
}

/**
 * @param {number} part
 * @param {number} whole
 */
function share(part, whole) {
  return `${whole === 0 ? 0 : Math.round((100 * part) / whole)} %`.padStart(5);
}
