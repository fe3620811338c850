// Why a piece of a request stands as it does, in words; and what it costs. Must not touch the document.
import { shortFigures } from "../../../lib/figures.js";
import { name as spelt } from "../../../lib/terminal.js";
import { counted, whole } from "../elements/numbers.js";

/** @typedef {import("../../../index.js").MessageAbout} MessageAbout */
/** @typedef {import("../../../index.js").LedgerCall} LedgerCall */
/** @typedef {import("../../../index.js").PriceTable} PriceTable */
/** @typedef {"given" | "current" | "excerpt" | "reread" | "reference" | "ours" | "withheld"} Way */
/** @typedef {{ cost: number, cached: number }} PieceCost `cached`: the share of its tokens that was read from the cache */

/** Each way in short. */
export const WAYS = {
  given: "as given",
  current: "file as it is now",
  excerpt: "in part",
  reread: "stands elsewhere",
  reference: "one line instead",
  ours: "added by Palimpsest",
  withheld: "withheld",
};

const WITHHELD = {
  excluded: "The store was told to keep no such text: this is not what the model saw.",
  secret: "It holds what looks like a secret, and was not stored: this is not what the model saw.",
  forgotten: "The text was forgotten: this stands in its place and is not what the model saw.",
  redacted: "A secret was taken out: the rest is what the model saw.",
};

/**
 * How a piece is shown.
 * @param {MessageAbout} about
 * @returns {Way}
 */
export function wayOf(about) {
  if (about.withheld) {
    return "withheld";
  }
  if (about.shown === null) {
    return about.position === null ? "ours" : "given";
  }
  const way = about.shown.as === "preview" ? "excerpt" : about.shown.as;
  return Object.hasOwn(WAYS, way) ? /** @type {Way} */ (way) : "given";
}

/**
 * The kind of content, as charts colour it.
 * @param {MessageAbout} about
 * @param {string} role
 */
export function kindOf(about, role) {
  const way = wayOf(about);
  if (way === "ours") {
    return "notes";
  }
  if (way === "reference" || way === "reread") {
    return "references";
  }
  if (role === "toolResult" || role === "tool") {
    return about.fileHandle === null ? "outputs" : "files";
  }
  return role === "assistant" ? "model" : role === "system" ? "prompt" : "person";
}

/**
 * Why a piece stands as it does, as a sentence.
 * @param {MessageAbout} about
 */
export function whyText(about) {
  const way = wayOf(about);
  if (way === "withheld") {
    return WITHHELD[/** @type {keyof typeof WITHHELD} */ (about.withheld)];
  }
  const file = [about.fileHandle, spelt(about.path ?? "")].filter(Boolean).join(" ");
  const texts = {
    given: "As the host gave it",
    current: `The text of ${file || "the file"} as it is now`,
    excerpt: `Shown in part${shownPart(about.shown)}`,
    reread: "Its lines stand in the window already, so that a line says where",
    reference: "Its text left the window; this line stands for it",
    ours: "Not in the chat: Palimpsest added it",
  };
  return `${texts[way]}${sinceText(about)}.`;
}

/**
 * Since when, and why: `, since call 15, when epoch 1 began: …`.
 * @param {{ sinceCall: number | null, sinceEpoch: number | null, reason: string | null }} about
 */
export function sinceText({ sinceCall, sinceEpoch, reason }) {
  if (sinceCall === null) {
    return "";
  }
  if (sinceEpoch === null) {
    return `, from its first call on, ${sinceCall}`;
  }
  return `, since call ${sinceCall}, when epoch ${sinceEpoch} began${reason === null ? "" : `: ${shortFigures(reason)}`}`;
}

/**
 * How many lines of an excerpt are shown, as far as it says so.
 * @param {MessageAbout["shown"]} shown
 */
function shownPart(shown) {
  const pieces = Array.isArray(shown?.pieces) ? /** @type {{ [key: string]: unknown }[]} */ (shown.pieces) : [];
  const lines = (/** @type {string} */ key) => pieces.reduce((sum, piece) => sum + length(piece[key]), 0);
  const here = lines("shown") + lines("ends");
  const elsewhere = lines("standing");
  const all = here + elsewhere + lines("between");
  if (all === 0) {
    return "";
  }
  const cut = pieces.flatMap(({ chars }) => (typeof chars === "number" ? [chars] : []));
  const long = cut.length === 0 ? "" : `; long lines end after ${whole(Math.min(...cut))} characters`;
  return `, ${here} of ${counted(all, "line")}${elsewhere === 0 ? "" : `; ${elsewhere} stand elsewhere in the window`}${long}`;
}

/** @param {unknown} range first and last line */
function length(range) {
  const [first, last] = Array.isArray(range) ? range.map(Number) : [1, 0];
  return Math.max(0, last - first + 1) || 0;
}

/**
 * What each piece of a request costs, in the ledger's unit: first the system prompt with the tools, then each message. The cache holds
 * the beginning of a request. Pieces sum to what the ledger says of the call; null where it says nothing.
 * @param {number[]} tokens of the messages
 * @param {LedgerCall | undefined} call
 * @param {PriceTable | undefined} prices
 * @returns {PieceCost[] | null}
 */
export function pieceCosts(tokens, call, prices) {
  if (call === undefined || prices === undefined) {
    return null;
  }
  const { sent, cached, cost } = call.ours;
  const prompt = Math.max(0, sent - tokens.reduce((sum, some) => sum + some, 0));
  let left = cached;
  const costs = [prompt, ...tokens].map((some) => {
    const fromCache = Math.min(some, left);
    left -= fromCache;
    const price = fromCache * prices.read + (some - fromCache) * prices.write;
    return { cost: price, cached: some === 0 ? 0 : fromCache / some };
  });
  const sum = costs.reduce((all, piece) => all + piece.cost, 0);
  const scale = sum > 0 ? cost / sum : 0;
  return costs.map((piece) => ({ ...piece, cost: piece.cost * scale }));
}
