// How large the next request of a session is in which Palimpsest is off, estimated as Pi does from what it has: no store is open then.
import { type ExtensionAPI, type ExtensionContext, estimateTokens } from "@earendil-works/pi-coding-agent";
import { plainRequestText } from "../lib/plain-request.js";
import { modelInUse } from "./observe.ts";
import { prompted } from "./prompt.ts";

type Estimated = Parameters<typeof estimateTokens>[0];

/** What a person reads of it; undefined where it is small. */
export function plainRequest(pi: ExtensionAPI, ctx: ExtensionContext): string | undefined {
  const model = modelInUse(ctx);
  const { entries } = ctx.sessionManager.buildSessionProjection();
  const list = entries.flatMap((entry) => entry.messages).filter(goesOut);
  const { messages, systemPrompt, tools } = prompted(pi, ctx, list);
  const front = { role: "system", content: systemPrompt, toolsAdded: tools, timestamp: 0 } as Estimated;
  const tokens = [front, ...messages].reduce((sum, message) => sum + estimateTokens(message), 0);
  const { input = 0, cacheWrite = 0 } = model?.cost ?? {};
  const dollars = (tokens * Math.max(input, cacheWrite)) / 1_000_000;
  return plainRequestText({ host: "Pi", tokens, dollars, contextWindow: model?.contextWindow });
}

/** Pi keeps the output of a `!!` command to the person. */
function goesOut(message: Estimated): boolean {
  return !(message.role === "bashExecution" && message.excludeFromContext === true);
}
