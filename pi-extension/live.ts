// Opens the store and the session behind a Pi session: settings, path of the store, parent. Decides nothing about contexts.
import { open } from "node:fs/promises";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Addon, Session, Store } from "./addon.ts";

/** An open session with its store. */
export interface Live {
  readonly session: Session;
  /** Notices for the user about the store and about mounts. */
  readonly notices: string[];
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
  // Do not read settings of a project that the user does not trust.
  const projectDir = ctx.isProjectTrusted() ? ctx.cwd : undefined;
  const settings = await addon.loadSettings({ agentDir, projectDir });
  if (!settings.enabled) {
    return undefined;
  }
  // Pi does not keep this session (`--no-session`), so neither do we.
  const path = ctx.sessionManager.getSessionFile() === undefined ? ":memory:" : undefined;
  const store = await addon.openStore({ path, settings, agentDir });
  try {
    const session = await addon.openSession(store, {
      harness: "pi",
      sessionId: ctx.sessionManager.getSessionId(),
      cwd: ctx.cwd,
      settings,
      parentSessionId: await parentSessionId(ctx),
      images: true,
    });
    const notices = [store.notice, ...(await session.mountNotices())].filter((notice) => notice !== null);
    return { session, notices, close: () => closeBoth(session, store) };
  } catch (error) {
    await store.close();
    throw error;
  }
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
  const file = await open(parentFile).catch(() => undefined);
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
