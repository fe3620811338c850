// Reads from Pi's session what the next `context_with_system` event would bring. Decides nothing.
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type PromptedList, prompted } from "./prompt.ts";

/** The list of the next call. */
type NextList = Omit<PromptedList, "front"> & {
  /** Index of the first message from the entry on that a compaction would keep. */
  keptFrom: number;
};

/** The list as Pi would hand it over now. Throws if the entry that a compaction would keep first is not in it. */
export function contextMessages(pi: ExtensionAPI, ctx: ExtensionContext, firstKeptEntryId: string): NextList {
  const entries = ctx.sessionManager.buildSessionProjection().entries;
  const first = entries.findIndex(({ sourceEntry }) => sourceEntry.id === firstKeptEntryId);
  if (first < 0) {
    throw new Error(`Pi's list has no entry ${firstKeptEntryId}`);
  }
  const leaving = new Set(entries.slice(0, first).flatMap(({ messages }) => messages));
  const { front: _, ...list } = prompted(
    pi,
    ctx,
    entries.flatMap(({ messages }) => messages),
  );
  return { ...list, keptFrom: list.messages.filter((message) => leaving.has(message)).length };
}
