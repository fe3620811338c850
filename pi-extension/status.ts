// The text of the status line: window tokens, share saved, the bill beside plain Pi's, active objects.
import type { SessionStatus } from "./addon.ts";

/** Such as `palimpsest 34.1k tokens · 41 % saved · bill 0.62 · 12 active`; before the first call `palimpsest on`. Ends with what is wrong. */
export function statusLine(status: SessionStatus, { failed, aside }: Trouble = {}): string {
  const notes = [
    aside,
    status.silentPlaces.length > 0 ? `no answer from ${status.silentPlaces.join(", ")}` : undefined,
    failed === undefined ? undefined : "the last call went out as Pi's own, /context says why",
  ];
  return [figures(status), ...notes.filter((note) => note !== undefined)].join(" · ");
}

/** What is not as it should be. */
export interface Trouble {
  /** Why the last call went out with Pi's own messages. */
  failed?: string;
  /** Where the store is, if not where the settings say. */
  aside?: string;
}

function figures(status: SessionStatus): string {
  if (status.calls === 0) {
    return "palimpsest on";
  }
  const saved = `${Math.round(status.savedShare * 100)} % saved`;
  const bill = status.billRatio === null ? "" : ` · bill ${status.billRatio.toFixed(2)}`;
  return `palimpsest ${shortCount(status.windowTokens)} tokens · ${saved}${bill} · ${status.activeObjects} active`;
}

/** Such as `palimpsest checking files 1.2k of 5.0k`: while a resumed session checks the files that it knows. */
export function checkingLine(files: number, of: number): string {
  return `palimpsest checking files ${shortCount(files)} of ${shortCount(of)}`;
}

/** Such as `812`, `34.1k`, `2.35M`. */
export function shortCount(count: number): string {
  if (count < 1_000) {
    return String(count);
  }
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`;
}
