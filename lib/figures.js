// Tokens and money as a person reads them, rounded alike in terminals and on the page. Must need nothing of Node.

/** Units of large figures. @type {[number, string][]} */
const units = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A figure with three digits: `812`, `8.4k`, `39.5k`, `2.35M`. @param {number} value */
export function shortCount(value) {
  const [size, letter] = units.find(([least]) => Math.abs(value) >= least * 0.9995) ?? [1, ""];
  return `${Number((value / size).toPrecision(3))}${letter}`;
}

/** A text with its large figures as a person reads them: `38.5k tokens`. @param {string} text */
export function shortFigures(text) {
  return text.replaceAll(/(?<![\w.,])\d{4,}(?![\w.]\w)/g, (figure) => shortCount(Number(figure)));
}

/** Dollars with as many digits as tell something: `$1,234`, `$0.27`, `$0.028`, `−$0.0079`. @param {number} value */
export function dollars(value) {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 0.095 || size === 0 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(size)));
  const text = size.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${value < 0 ? "−" : ""}$${text}`;
}

/**
 * Number of calls in what was reported in dollars: those of a known price, of whose input the provider reported.
 * @param {Pick<import("../index.js").Ledger, "perCall">} ledger
 */
export function reportedCalls({ perCall }) {
  return perCall.filter(({ reported, usdPerMillion }) => reported !== null && usdPerMillion !== null).length;
}
