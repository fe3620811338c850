// Figures in words: costs, shares, times. Must not touch the document.
import { dollars, shortCount } from "../../../lib/figures.js";

/**
 * A whole number with its thousands apart.
 * @param {number | null | undefined} value
 */
export function whole(value) {
  return Math.round(value ?? 0).toLocaleString("en");
}

/**
 * A count and its noun: `1 call`, `2,000 calls`.
 * @param {number} count
 * @param {string} noun
 * @param {string} [plural]
 */
export function counted(count, noun, plural = `${noun}s`) {
  return `${whole(count)} ${count === 1 ? noun : plural}`;
}

/**
 * A share as a percentage; a dash where there is none.
 * @param {number | null | undefined} share
 * @param {number} [digits]
 */
export function percent(share, digits = 0) {
  if (typeof share !== "number" || !Number.isFinite(share)) {
    return "–";
  }
  return `${share < 0 ? "−" : ""}${(Math.abs(share) * 100).toFixed(digits)}\u00a0%`;
}

/**
 * A cost: in dollars where these are known, else in prices of an input token.
 * @param {number} value
 * @param {boolean} isDollars
 */
export function cost(value, isDollars) {
  return isDollars ? dollars(value) : `${shortCount(value)}\u00a0tok`;
}

/**
 * What was saved of a bill, as a share; null without a bill.
 * @param {number} bill
 * @param {number} plainBill
 */
export function savedShare(bill, plainBill) {
  return plainBill > 0 ? 1 - bill / plainBill : null;
}

/**
 * How much less ours is than plain.
 * @param {number} sent
 * @param {number} plain
 */
export function savedText(sent, plain) {
  if (plain <= 0 || sent === plain) {
    return plain > 0 ? "the same as plain" : "";
  }
  const share = Math.abs(1 - sent / plain);
  return `${percent(share, share > 0.99 && share < 1 ? 2 : 0)} ${sent < plain ? "less" : "more"} than plain`;
}

/**
 * A point in time, in the person's own zone, to the minute.
 * @param {string | null} time RFC 3339
 */
export function clock(time) {
  const date = time === null ? null : new Date(time);
  if (date === null || Number.isNaN(date.getTime())) {
    return "–";
  }
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/**
 * How long ago something was, in words.
 * @param {string} time RFC 3339
 * @param {number} [now] milliseconds since 1970
 */
export function ago(time, now = Date.now()) {
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (!Number.isFinite(seconds)) {
    return "–";
  }
  /** @type {[number, number, string][]} */
  const steps = [
    [60, 1, "second"],
    [3600, 60, "minute"],
    [86_400, 3600, "hour"],
    [86_400 * 30, 86_400, "day"],
    [86_400 * 365, 86_400 * 30, "month"],
  ];
  const [, size, noun] = steps.find(([below]) => seconds < below) ?? [0, 86_400 * 365, "year"];
  return noun === "second" ? "just now" : `${counted(Math.floor(seconds / size), noun)} ago`;
}
