// The status line: window tokens, share saved, active objects. Pure text.
import type { SessionStatus } from "./addon.ts";

/** Such as `palimpsest 34.1k tokens · 41 % saved · 12 active`; before the first call `palimpsest on`. */
export function statusLine(status: SessionStatus): string {
  if (status.calls === 0) {
    return "palimpsest on";
  }
  const saved = `${Math.round(status.savedShare * 100)} % saved`;
  return `palimpsest ${shortCount(status.windowTokens)} tokens · ${saved} · ${status.activeObjects} active`;
}

function shortCount(count: number): string {
  return count < 1_000 ? String(count) : `${(count / 1_000).toFixed(1)}k`;
}
