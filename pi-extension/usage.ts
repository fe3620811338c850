// Tells the session what providers report: the usage of each answer, and of requests that only kept the cache alive.
// It decides nothing, and none of it rejects.
import type { ExtensionContext, MessageEndEvent } from "@earendil-works/pi-coding-agent";
import type { Session, UsageReport } from "./addon.ts";
import type { Failures } from "./failures.ts";

/** What is reported of one session. */
export interface UsageReporter {
  /** A call goes out; `ours` is false where Pi's own messages did. */
  called(ours: boolean): void;
  /** A message is whole. */
  ended(event: MessageEndEvent): Promise<void>;
  /** Reports what was spent on keeping the cache alive; before a call, which may find it alive for that. */
  warmed(ctx: ExtensionContext): Promise<void>;
}

/** Creates a reporter. */
export function createUsageReporter(session: Session, failures: Failures): UsageReporter {
  let newestIsOurs = false;

  async function report(usage: UsageReport) {
    await session.usageReported(usage).catch((error: unknown) => failures.report("usage was not taken", error));
  }

  return {
    called(ours) {
      newestIsOurs = ours;
    },
    async ended({ message }) {
      if (message.role !== "assistant" || message.usage === undefined) {
        return;
      }
      const { input, cacheRead, cacheWrite, output } = message.usage;
      // Without a number it is of the newest call that the session took.
      const call = newestIsOurs ? undefined : 0;
      await report({ kind: "call", call, input, cacheRead, cacheWrite, output });
    },
    async warmed(ctx) {
      for (const { id, timestamp, usage } of newestWarmings(ctx)) {
        const { input, cacheRead, cacheWrite, output } = usage;
        await report({ kind: "cache_warm", id, time: Date.parse(timestamp), input, cacheRead, cacheWrite, output });
      }
    },
  };
}

/**
 * The entries of cache warming since the answer before the newest, oldest first: one that takes long is kept warm before it
 * is whole. The session knows those that it was told of.
 */
function newestWarmings(ctx: ExtensionContext) {
  const branch = ctx.sessionManager.getBranch();
  const found = [];
  let answers = 0;
  for (let at = branch.length - 1; at >= 0 && answers < 2; at--) {
    const entry = branch[at];
    if (entry.type === "message" && entry.message.role === "assistant") {
      answers++;
    }
    if (entry.type === "usage" && entry.kind === "cache_warm") {
      found.unshift(entry);
    }
  }
  return found;
}
