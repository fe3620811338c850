// What a call was, above its messages: its place in the session, its figures beside plain's, and what fills its window.

import { shortCount } from "../../../lib/figures.js";
import { KINDS, recounted, totalOf } from "../charts/kinds.js";
import { element } from "../elements/dom.js";
import { clock, cost, counted, percent, savedText, whole } from "../elements/numbers.js";

/** @typedef {import("../../protocol.js").CallView} CallView */
/** @typedef {import("../../../index.js").LedgerCall} LedgerCall */
/** @typedef {import("../charts/kinds.js").Kind} Kind */

/**
 * When, by which model, in which epoch.
 * @param {CallView["call"]} call
 */
export function callFacts({ time, model, epoch, epochReason, retryOf, layout, contextWindow }) {
  const epochText =
    epoch === null ? null : `epoch ${epoch}${epochReason === null ? "" : `, which began because: ${epochReason}`}`;
  return [
    time === null ? null : clock(time),
    model,
    contextWindow === null ? null : `window of ${shortCount(contextWindow)} tokens`,
    layout === null ? null : `layout ${layout}`,
    epochText,
    retryOf === null ? null : `repeats call ${retryOf}: the host sent the same list again`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/**
 * The figures, and the bars of ours and plain's on one scale.
 * @param {CallView} view
 */
export function callFigures(view) {
  const { ours, plain } = sizes(view.call);
  const isCompacted = view.call.size !== null && view.call.size.plainFrom !== null;
  const list = (view.call.plainTokens ?? 0) + (view.call.promptTokens ?? 0);
  return element(
    "dl",
    { class: "figures" },
    tile("request as sent", `${shortCount(ours)} tok`, savedText(ours, plain)),
    tile("plain would have sent", `${shortCount(plain)} tok`, plainText(view.call, isCompacted, list)),
    tile("cost of this call", "–", "", "bill"),
    hashTile(view),
  );
}

/** @param {CallView["call"]} call @param {boolean} isCompacted @param {number} list tokens of the host's list */
function plainText({ size }, isCompacted, list) {
  if (size?.extra === true) {
    return "if it made such a call";
  }
  return isCompacted ? `compacted, of ${shortCount(list)}` : "the host alone";
}

/**
 * Tokens of the request and of plain's, system prompt and tools included.
 * @param {CallView["call"]} call
 */
function sizes({ size, sentTokens, plainTokens, promptTokens }) {
  const prompt = promptTokens ?? 0;
  return size === null
    ? { ours: (sentTokens ?? 0) + prompt, plain: (plainTokens ?? 0) + prompt }
    : { ours: size.sent, plain: size.plain };
}

/**
 * @param {string} name
 * @param {string} figure
 * @param {string} [more]
 * @param {string} [kind]
 */
function tile(name, figure, more = "", kind = "") {
  return element(
    "div",
    { class: kind },
    element("dt", {}, name),
    element("dd", {}, element("strong", {}, figure), element("span", { class: "faint" }, more)),
  );
}

/** @param {CallView} view */
function hashTile({ call, messages }) {
  const withheld = messages.filter(({ about }) => about.withheld).length;
  const why = withheld > 0 ? `${counted(withheld, "message")} withheld` : "the messages differ";
  const isChanged = call.payload !== null && call.payload.messages !== null;
  const known = [
    (call.hash ?? "").slice(0, 12),
    withheld > 0 ? why : null,
    isChanged ? "then changed: see Payload" : null,
  ];
  const made = tile(
    isChanged ? "what Palimpsest gave" : "what the model saw",
    call.verified ? "✓ hash checked" : "not checked",
    call.verified ? known.filter(Boolean).join(", ") : why,
    call.verified ? "verified" : "unverified",
  );
  made.title = call.hash === null ? "No hash was recorded" : `SHA-256 ${call.hash}`;
  return made;
}

/**
 * What the ledger says of the call.
 * @param {LedgerCall} call
 */
export function billTexts({ ours, plain, usdPerMillion, reported }) {
  const isDollars = usdPerMillion !== null;
  const price = (/** @type {number} */ value) => cost(isDollars ? (value * usdPerMillion) / 1e6 : value, isDollars);
  const report = reported === null ? "" : ` The provider reported ${price(reported.cost)}.`;
  return {
    figure: price(ours.cost),
    more: `plain ${price(plain.cost)} · ${percent(ours.sent > 0 ? ours.cached / ours.sent : null)} cached`,
    title: `Input only: ${whole(ours.cached)} tokens read from the cache, ${whole(ours.written)} not.${report}`,
  };
}

/**
 * What fills the window, beside plain's size.
 * @param {CallView} view
 */
export function windowBars(view) {
  const kinds = recounted(view.call.kinds, view.call.size?.sent);
  const { plain } = sizes(view.call);
  const scale = Math.max(totalOf(kinds), plain, 1);
  const present = KINDS.filter(([kind]) => kinds[kind] > 0);
  const words = (/** @type {Kind} */ kind) => shortCount(Math.round(kinds[kind]));
  const label = present.map(([kind, name]) => `${name} ${words(kind)}`).join(", ");
  return element(
    "figure",
    { class: "window" },
    element(
      "div",
      { class: "bar-line", role: "img", "aria-label": `Tokens of the request: ${label}` },
      ...present.map(([kind]) => segment(kind, kinds[kind] / scale)),
    ),
    element(
      "div",
      { class: "bar-line", role: "img", "aria-label": `Plain would have sent ${shortCount(plain)} tokens` },
      segment("plain-part", plain / scale),
    ),
    element(
      "figcaption",
      {},
      ...present.map(([kind, name]) =>
        element("span", { class: "key" }, element("i", { class: `swatch ${kind}` }), `${name} ${words(kind)}`),
      ),
      element("span", { class: "key" }, element("i", { class: "swatch plain-part" }), `plain ${shortCount(plain)}`),
    ),
  );
}

/**
 * @param {string} kind
 * @param {number} share
 */
function segment(kind, share) {
  const made = element("i", { class: `segment ${kind}` });
  made.style.width = `${share * 100}%`;
  return made;
}
