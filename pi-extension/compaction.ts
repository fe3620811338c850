// Reads from Pi's session what the next `context` event would bring. Decides nothing.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

/**
 * The messages as Pi would hand them over now, and the index of the first one from the entry on that a compaction would keep. Throws if
 * that entry is not among them.
 */
export function contextMessages(ctx: ExtensionContext, firstKeptEntryId: string) {
  const messages = [];
  let keptFrom: number | undefined;
  for (const entry of ctx.sessionManager.buildSessionProjection().entries) {
    if (entry.sourceEntry.id === firstKeptEntryId) {
      keptFrom = messages.length;
    }
    messages.push(...entry.messages.filter((message) => message.role !== "system"));
  }
  if (keptFrom === undefined) {
    throw new Error(`Pi's list has no entry ${firstKeptEntryId}`);
  }
  return { messages, keptFrom };
}
