// What a Pi session is opened with: settings, path of the store, parent, and what the person chose for the session. Opens the store and
// the session behind it, says why it stays off and how to turn it on. The choices made there, off or on among them, are in Pi's session file,
// since our store stays shut where it is off; a fork takes them over. Decides nothing about contexts.
import { existsSync } from "node:fs";
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join } from "node:path";
import type { ExtensionAPI, ExtensionContext, SessionEntry } from "@earendil-works/pi-coding-agent";
import { describe, isLost } from "../lib/failures.js";
import type { Addon, Session, Settings, Store } from "./addon.ts";
import { trusted } from "./trust.ts";

/** What stands for the path of a store in memory. */
export const inMemory = ":memory:";

/** Stores beside a damaged one that are tried. */
const maxBeside = 9;

/** The settings that a person may choose in a session, and what weighs in their place. */
export type Choices = Pick<Settings, "layout" | "thrift" | "faultTokens">;

/** The values of those that can be chosen. */
export const choosable = {
  layout: ["log", "pools"],
  thrift: ["careful", "balanced", "thrifty"],
} as const satisfies { [Key in keyof Choices]?: readonly Choices[Key][] };

/** An open session with its store. */
export interface Live {
  readonly session: Session;
  readonly store: Store;
  readonly cwd: string;
  /** As it was opened. */
  readonly choices: Choices;
  /** Notices for the user about the store and about mounts. */
  readonly notices: string[];
  /** Whether it has all that an archive held with which it was opened. */
  readonly isWhole: boolean;
  /** Where its store is, as the status line says it, if that is not where the settings say. */
  readonly aside: string | undefined;
  /** Closes session and store. */
  close(): Promise<void>;
}

/** Identifies a Pi session. The same session ID can occur in two working folders. */
export function sessionKey(ctx: ExtensionContext): string {
  return `${ctx.sessionManager.getSessionId()}\0${ctx.cwd}`;
}

/**
 * Opens store and session for the Pi session of `ctx`. Resolves to undefined if the settings turn Palimpsest off. Rejects with the
 * addon's errors.
 */
export async function openLive(
  addon: typeof Addon,
  agentDir: string,
  ctx: ExtensionContext,
): Promise<Live | undefined> {
  const settings = await settingsOf(addon, agentDir, ctx);
  if (!settings.enabled) {
    return undefined;
  }
  const wrong = await wrongSettings(addon, agentDir, ctx);
  // Pi does not keep this session (`--no-session`), so neither do we.
  const isKept = ctx.sessionManager.getSessionFile() !== undefined;
  const path = isKept ? await addon.storePath({ settings, agentDir }) : inMemory;
  try {
    const live = await openAt(addon, agentDir, ctx, settings, path);
    return { ...live, notices: [...wrong, ...live.notices] };
  } catch (error) {
    const beside = isLost(error) ? placesBeside(path).find((place) => existsSync(place)) : undefined;
    if (beside === undefined) {
      throw error;
    }
    // A session that was open when the store failed goes on there.
    const live = await openAt(addon, agentDir, ctx, settings, beside);
    const notice = `${sentence(error)}: the store beside it, \`${beside}\`, is used instead; ${advice(error)}`;
    return { ...live, notices: [notice, ...wrong, ...live.notices], aside: `in ${basename(beside)}` };
  }
}

/** Where the settings of a session are. Those of a project that the user does not trust are not read. */
export function settingsPlaces(agentDir: string, ctx: ExtensionContext) {
  return { agentDir, projectDir: ctx.cwd, trusted: trusted(ctx) };
}

/** The settings of a session. A wrong value does not count. */
export async function settingsOf(addon: typeof Addon, agentDir: string, ctx: ExtensionContext): Promise<Settings> {
  const settings = await addon.loadSettings({ ...settingsPlaces(agentDir, ctx), needed: [] });
  return { ...settings, ...chosen(ctx) };
}

async function wrongSettings(addon: typeof Addon, agentDir: string, ctx: ExtensionContext): Promise<string[]> {
  const problems = await addon.settingProblems(settingsPlaces(agentDir, ctx));
  return problems.map((problem) => `${problem}; what is wrong is ignored, the rest counts`);
}

/**
 * Opens the session of `ctx` in another store than that of `lost`: at the same place where that is free or holds a store, else beside
 * it, else in memory. It gets what can still be read of the session; else it starts with what Pi has. Closes `lost`. Rejects if there is
 * no way.
 */
export async function openElsewhere(
  addon: typeof Addon,
  agentDir: string,
  ctx: ExtensionContext,
  lost: Live,
  why: unknown,
): Promise<Live> {
  const settings = await settingsOf(addon, agentDir, ctx);
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-"));
  try {
    const archive = await rest(lost, join(folder, "session.jsonl"));
    // What fails in it is known.
    await lost.close().catch(() => {});
    const { path } = lost.store;
    const isGone = (why as { code?: unknown }).code === "STORE_GONE";
    for (const place of [...(isGone ? [path] : []), ...placesBeside(path), inMemory]) {
      const live = await openAt(addon, agentDir, ctx, settings, place, archive).catch(() => undefined);
      if (live !== undefined) {
        const notice = `${sentence(why)}: ${goesOn(path, place, why, live.isWhole)}`;
        return { ...live, notices: [notice, ...live.notices], aside: aside(path, place) };
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  throw why;
}

/** An archive of the session, if all of it can still be read, as of a file that was deleted and is open. All that is read is checked. */
async function rest({ session, store }: Live, path: string): Promise<string | undefined> {
  return store.maintenance.exportArchive({ path, session: session.id }).then(
    () => path,
    () => undefined,
  );
}

function goesOn(path: string, place: string, why: unknown, isWhole: boolean): string {
  const from = isWhole
    ? "with all that it held"
    : "with what Pi has of it, without earlier versions of files and figures";
  if (place === path) {
    return `this session goes on in the store that is there now, ${from}`;
  }
  return place === inMemory
    ? `this session goes on in memory, and nothing of it is kept beyond Pi's own file; ${advice(why)}`
    : `this session goes on in \`${place}\`, ${from}; ${advice(why)}`;
}

function aside(path: string, place: string): string | undefined {
  if (place === path) {
    return undefined;
  }
  return place === inMemory ? "in memory" : `in ${basename(place)}`;
}

/** Such as `store-2.sqlite`, in the order in which they are tried. */
function placesBeside(path: string): string[] {
  const end = extname(path);
  const name = basename(path, end);
  return Array.from({ length: maxBeside }, (_, index) => join(dirname(path), `${name}-${index + 2}${end}`));
}

function sentence(error: unknown): string {
  const { message, code } = error as { message: string; code: string };
  return `${message} (${code})`;
}

function advice(error: unknown): string {
  return (error as { hint?: string }).hint ?? "`palimpsest doctor` says more";
}

async function openAt(
  addon: typeof Addon,
  agentDir: string,
  ctx: ExtensionContext,
  settings: Settings,
  path: string,
  archive?: string,
): Promise<Live> {
  const store = await addon.openStore({ path, settings, agentDir });
  try {
    const isWhole = archive !== undefined && (await isImported(store, archive));
    const session = await addon.openSession(store, {
      harness: "pi",
      sessionId: ctx.sessionManager.getSessionId(),
      cwd: ctx.cwd,
      settings,
      parentSessionId: await parentSessionId(ctx),
      images: true,
      asksToCompact: true,
    });
    const notices = [store.notice, ...(await session.mountNotices())].filter((notice) => notice !== null);
    const close = () => closeBoth(session, store);
    const { layout, thrift, faultTokens } = settings;
    const choices = { layout, thrift, faultTokens };
    return { session, store, cwd: ctx.cwd, choices, notices, aside: undefined, isWhole, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function isImported(store: Store, path: string): Promise<boolean> {
  return store.maintenance.importArchive({ path }).then(
    () => true,
    () => false,
  );
}

async function closeBoth(session: Session, store: Store): Promise<void> {
  try {
    await session.close();
  } finally {
    await store.close();
  }
}

/**
 * ID of the session that this one was forked from. Pi's header names the parent's file, whose first line has the ID. Undefined if the
 * file is gone.
 */
async function parentSessionId(ctx: ExtensionContext): Promise<string | undefined> {
  const parentFile = ctx.sessionManager.getHeader()?.parentSession;
  if (parentFile === undefined) {
    return undefined;
  }
  // A session file of somebody else may name a pipe, or a device without end.
  const isFile = await stat(parentFile).then(
    (found) => found.isFile(),
    () => false,
  );
  const file = isFile ? await open(parentFile).catch(() => undefined) : undefined;
  try {
    for await (const line of file?.readLines() ?? []) {
      const header: unknown = JSON.parse(line);
      return isHeader(header) ? header.id : undefined;
    }
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
  return undefined;
}

function isHeader(value: unknown): value is { type: "session"; id: string } {
  const header = value as { type?: unknown; id?: unknown } | null;
  return header?.type === "session" && typeof header.id === "string";
}

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
      why: "you had this session forgotten",
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

/** The settings that the user chose in the session, in the same way. */
export function chosen(ctx: ExtensionContext): Partial<Choices> {
  const [layout, thrift] = [newest(ctx, "layout"), newest(ctx, "thrift")];
  return {
    ...(isChoice("layout", layout) && { layout }),
    // Whoever chooses a thrift wants it, whatever the weight in a file.
    ...(isChoice("thrift", thrift) && { thrift, faultTokens: 0 }),
  };
}

/** Whether a setting that can be chosen in a session may have this value. */
export function isChoice<Key extends keyof typeof choosable>(key: Key, value: unknown): value is Choices[Key] {
  return (choosable[key] as readonly unknown[]).includes(value);
}

/** Up to when what was said in the session was looked at for memory; undefined where it never was, nor had to be. */
export function capturedUntil(ctx: ExtensionContext): number | undefined {
  const until = newest(ctx, "captured");
  return typeof until === "number" ? until : undefined;
}

/** Remembers what the user wants in this session, and what was done for them there. */
export function remember(pi: ExtensionAPI, what: { on: boolean } | { captured: number } | Partial<Choices>): void {
  pi.appendEntry(entryType, what);
}

/** The newest value under a key of our entries. */
function newest(ctx: ExtensionContext, key: "on" | "captured" | keyof typeof choosable): unknown {
  const data = (entry: SessionEntry) =>
    entry.type === "custom" && entry.customType === entryType
      ? (entry.data as Record<string, unknown> | undefined)
      : {};
  const entry = ctx.sessionManager.getEntries().findLast((known) => data(known)?.[key] !== undefined);
  return entry === undefined ? undefined : data(entry)?.[key];
}

/** Offers the model of the tools of these `names` those that are `offered`, and no others of them. */
export function offerTools(pi: ExtensionAPI, names: readonly string[], offered: readonly string[]): void {
  const active = pi.getActiveTools();
  if (names.some((name) => active.includes(name) !== offered.includes(name))) {
    pi.setActiveTools([...active.filter((name) => !names.includes(name)), ...offered]);
  }
}
