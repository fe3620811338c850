// Reports to the session what providers say was used: by each answer, and by requests that only kept the cache alive. Decides nothing
// and never rejects.
import type { ExtensionContext, MessageEndEvent } from "@earendil-works/pi-coding-agent";
import type { Session, UsageReport } from "./addon.ts";
import type { Failures } from "./failures.ts";

/** Reports the usage of one session. */
export interface UsageReporter {
  /** A call goes out. `ours` is false if it has Pi's own messages. */
  called(ours: boolean): void;
  /** A message is complete. */
  ended(event: MessageEndEvent): Promise<void>;
  /** Reports requests that kept the cache alive. Call it before a call, whose estimate depends on it. */
  warmed(ctx: ExtensionContext): Promise<void>;
}

/** Creates a reporter. */
export function createUsageReporter(session: Session, failures: Failures): UsageReporter {
  let newestIsOurs = false;

  async function report(usage: UsageReport) {
    await session.recordUsage(usage).catch((error: unknown) => failures.report("usage was not taken", error));
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
      // Without a number the report is about the newest call of the session.
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
 * The entries about cache warming since the answer before the newest, oldest first: while an answer takes long, the cache is kept warm
 * before the answer is complete. The session ignores those that it knows.
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
