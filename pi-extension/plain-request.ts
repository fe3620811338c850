// How large the next request of a session is in which Palimpsest is off, estimated from what Pi has of it: no store is open then.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { blocksOf } from "../lib/content.js";
import { plainRequestText } from "../lib/plain-request.js";
import { modelInUse } from "./observe.ts";

const charactersPerToken = 4;
/** About what providers count for one. */
const imageTokens = 1_200;

/** What a person reads of it; undefined where it is small. */
export function plainRequest(ctx: ExtensionContext): string | undefined {
  const model = modelInUse(ctx);
  const { entries } = ctx.sessionManager.buildSessionProjection();
  const messages = entries.flatMap((entry) => entry.messages);
  const prompt = Math.ceil(ctx.getSystemPrompt().length / charactersPerToken);
  const tokens = messages.reduce((sum, message) => sum + tokensOf(message), prompt);
  const { input = 0, cacheWrite = 0 } = model?.cost ?? {};
  const dollars = (tokens * Math.max(input, cacheWrite)) / 1_000_000;
  return plainRequestText({ host: "Pi", tokens, dollars, contextWindow: model?.contextWindow });
}

function tokensOf(message: object): number {
  const { content, summary = "" } = message as { content?: unknown; summary?: string };
  const blocks = blocksOf(content);
  const images = blocks.filter(({ type }) => type === "image").length;
  const texts = blocks.map((block) => (block.type === "image" ? "" : said(block)));
  return images * imageTokens + Math.ceil((texts.join("").length + summary.length) / charactersPerToken);
}

/** What a block says: without its signatures and IDs. */
function said(block: object): string {
  const { text, thinking, arguments: args } = block as { text?: string; thinking?: string; arguments?: unknown };
  return text ?? thinking ?? (args === undefined ? "" : JSON.stringify(args));
}
