// Whether the user turned Palimpsest off in a session. Pi's session file holds that, since our store stays shut where it is off; a fork
// takes it over. Here too: why it is off, and the way to turn it on.
import { join } from "node:path";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { describe } from "./failures.ts";

/** Why Palimpsest is off in a session. */
export interface Off {
  readonly why: string;
  /** How to turn it on. */
  readonly turnOn: string;
}

/** Type of the entries in Pi's session file. */
const entryType = "palimpsest";

/** Errors about code: what a process failed to load once it does not load again. */
const mendedByStart: unknown[] = ["NO_ADDON", "OTHER_COPY"];

/** The user said so in this session. */
export const switchedOff: Off = { why: "you turned it off here", turnOn: "`/context on`" };

/** The settings say so. */
export function offBySettings(agentDir: string): Off {
  const file = join(agentDir, "palimpsest.json");
  return {
    why: "the setting `enabled` is false",
    turnOn: `remove \`enabled\` from \`${file}\` or the project's \`.pi/palimpsest.json\`, then \`/context on\``,
  };
}

/** It could not be opened. */
export function offByError(error: unknown): Off {
  if (isForgotten(error)) {
    return {
      why: "you had it forgotten",
      turnOn: "a new session, since nothing of a forgotten one is stored again",
    };
  }
  const { code } = (error ?? {}) as { code?: unknown };
  const again = mendedByStart.includes(code) ? "start Pi again" : "`/context on`";
  return { why: describe(error), turnOn: `put that right, then ${again}` };
}

/** Whether the user had this session forgotten. That is no failure, and nothing of it is stored again. */
export function isForgotten(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "FORGOTTEN";
}

/** Whether the user turned it off in the session, by the newest entry, on whatever branch. */
export function isSwitchedOff(ctx: ExtensionContext): boolean {
  const newest = ctx.sessionManager
    .getEntries()
    .findLast((entry) => entry.type === "custom" && entry.customType === entryType);
  return newest?.type === "custom" && (newest.data as { on?: unknown } | undefined)?.on === false;
}

/** Remembers what the user wants in this session. */
export function rememberSwitch(pi: ExtensionAPI, on: boolean): void {
  pi.appendEntry(entryType, { on });
}

/** Offers the model the tools of these names, or no longer. */
export function offerTools(pi: ExtensionAPI, names: readonly string[], on: boolean): void {
  const others = pi.getActiveTools().filter((name) => !names.includes(name));
  pi.setActiveTools(on ? [...others, ...names] : others);
}
