// What a model proposes to remember, at a compaction or at the end of a session, where its user named one for that. The prompt and what of
// the answer counts come from the addon; here is the request, by way of Pi's models. Imported when it is first used.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Memory, MemoryCaptureModel } from "./addon.ts";

/** Tokens of the answer at most: some entries of one line, and thinking. */
const maxTokens = 4_096;

/** Has the model look at what was said since a time, and proposes what it answers; returns how many entries are new. */
export async function propose(
  memory: Memory,
  { provider, id }: MemoryCaptureModel,
  ctx: ExtensionContext,
  since: number,
  deadlineMs: number,
): Promise<number> {
  const prompt = await memory.capturePrompt(saidSince(ctx, since));
  if (prompt === null) {
    return 0;
  }
  const model = ctx.modelRegistry.find(provider, id);
  if (model === undefined) {
    throw new Error(`Pi knows no model \`${provider}/${id}\`, which \`captureModel\` names`);
  }
  const message = { role: "user" as const, content: [{ type: "text" as const, text: prompt }], timestamp: Date.now() };
  const options = { maxTokens, signal: AbortSignal.timeout(deadlineMs), cacheRetention: "none" as const };
  const answer = await ctx.modelRegistry.complete(model, { messages: [message] }, options);
  if (answer.stopReason === "error" || answer.stopReason === "aborted") {
    throw new Error(answer.errorMessage ?? `the model did not answer within ${deadlineMs / 1_000} s`);
  }
  const texts = answer.content.map((block) => (block.type === "text" ? block.text : ""));
  return (await memory.propose(texts.join(""))).length;
}

/** The messages of the branch since a time. */
function saidSince({ sessionManager }: ExtensionContext, since: number): unknown[] {
  const entries = sessionManager.getBranch();
  return entries.flatMap((entry) =>
    entry.type === "message" && Date.parse(entry.timestamp) >= since ? [entry.message] : [],
  );
}
