// Figures in words: money, tokens, counts. Pure.

/** Such as `812`, `8.4k`, `34k`, `2.35M`. */
export function shortCount(count: number): string {
  if (count < 1_000) {
    return String(Math.round(count));
  }
  if (count < 9_950) {
    return `${(count / 1_000).toFixed(1)}k`;
  }
  return count < 999_500 ? `${Math.round(count / 1_000)}k` : `${(count / 1_000_000).toFixed(2)}M`;
}

/** A sum in US dollars that is not negative: `$0.27`, and below ten cents `$0.028`. */
export function dollars(sum: number): string {
  if (sum > 0 && sum < 0.0005) {
    return "less than $0.001";
  }
  return `$${sum.toFixed(sum < 0.0995 ? 3 : 2)}`;
}

/** Such as `1 call`, `2 calls`. */
export function counted(count: number, thing: string): string {
  return `${shortCount(count)} ${thing}${count === 1 ? "" : "s"}`;
}

/** Such as `43 %`. */
export function percent(part: number, whole: number): string {
  return `${Math.round((100 * part) / (whole > 0 ? whole : 1))} %`;
}

/** A text of at most this many characters. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) {
    return text;
  }
  // Not between the halves of a surrogate pair.
  const end = /[\ud800-\udbff]$/.test(text.slice(0, characters - 1)) ? characters - 2 : characters - 1;
  return `${text.slice(0, end).trimEnd()}…`;
}
