// What the user chose for a session: whether Palimpsest is off, and the layout. Pi's session file holds that, since our store stays shut
// where it is off; a fork takes it over. Here too: why it is off, and the way to turn it on.
import { join } from "node:path";
import type { ExtensionAPI, ExtensionContext, SessionEntry } from "@earendil-works/pi-coding-agent";
import type { Settings } from "./addon.ts";
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

/** The option that Pi was started with; see `flagName`. */
export const offByFlag: Off = {
  why: "Pi was started with `--no-context`",
  turnOn: "`/context on`, or start Pi without it",
};

/** Name of Pi's option that starts without us. */
export const flagName = "no-context";

/**
 * What Pi took for the value of the option: it gives an extension's option the next word of the command line, which is a prompt where one
 * follows. Undefined if it took none.
 */
export function swallowed(args: readonly string[]): string | undefined {
  const next = args.includes(`--${flagName}`) ? args[args.indexOf(`--${flagName}`) + 1] : undefined;
  return next?.startsWith("-") ? undefined : next;
}

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
  return newest(ctx, "on") === false;
}

/** The layout that the user chose in the session, in the same way. */
export function chosenLayout(ctx: ExtensionContext): Settings["layout"] | undefined {
  const layout = newest(ctx, "layout");
  return layout === "log" || layout === "pools" ? layout : undefined;
}

/** Remembers what the user wants in this session. */
export function remember(pi: ExtensionAPI, what: { on: boolean } | { layout: Settings["layout"] }): void {
  pi.appendEntry(entryType, what);
}

/** The newest value under a key of our entries. */
function newest(ctx: ExtensionContext, key: "on" | "layout"): unknown {
  const data = (entry: SessionEntry) =>
    entry.type === "custom" && entry.customType === entryType
      ? (entry.data as Record<string, unknown> | undefined)
      : {};
  const entry = ctx.sessionManager.getEntries().findLast((known) => data(known)?.[key] !== undefined);
  return entry === undefined ? undefined : data(entry)?.[key];
}

/** Offers the model the tools of these names, or no longer. */
export function offerTools(pi: ExtensionAPI, names: readonly string[], on: boolean): void {
  const others = pi.getActiveTools().filter((name) => !names.includes(name));
  pi.setActiveTools(on ? [...others, ...names] : others);
}
