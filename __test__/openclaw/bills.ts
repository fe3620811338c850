// What a session costs by the request bodies that a model server received, in both wire formats. The rules are those of measure.js; what
// OpenClaw puts behind every request is sent anew each time, and in Anthropic's format it stands behind the last cache breakpoint.
import { bill, type CallCost, cachedTokens, measureCalls, type Price, prices } from "../../scripts/lib/measure.js";
import type { RequestBody, WireMessage } from "../../scripts/lib/scripted-model.js";
import { isInternal } from "./support.ts";

type Json = Record<string, unknown>;
type Block = { type: string; text?: string; [field: string]: unknown };

/** The format that a model speaks. */
export type Wire = "openai" | "anthropic";

/** How each format is billed. */
export const priceOf: Record<Wire, Price> = { anthropic: prices[0], openai: prices[1] };

/** A body of Anthropic's as OpenAI's completions would have it. */
export function inOneShape(body: Json): RequestBody {
  const { system, messages, tools, model } = body as {
    system?: Block[];
    messages: WireMessage[];
    tools?: Json[];
    model: string;
  };
  if (system === undefined) {
    return body as unknown as RequestBody;
  }
  const [stable, ...rest] = system.map(({ text }) => text ?? "");
  const functions = (tools ?? []).map((tool) => {
    const { cache_control: _, name, ...more } = tool;
    return { type: "function", function: { name: String(name), ...more } };
  });
  // Only the first block of the system prompt is marked for the cache.
  const behind = rest.map((content) => ({ role: "user", content: `${promptMark}${content}` }));
  return {
    model,
    tools: functions,
    messages: [{ role: "system", content: stable }, ...behind, ...messages.flatMap(split)],
  };
}

const promptMark = "<the rest of the system prompt> ";

/** A message of Anthropic's: results become messages of their own, calls a field. */
function split({ role, content }: WireMessage): WireMessage[] {
  const blocks: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : (content as Block[]);
  const results = blocks
    .filter(({ type }) => type === "tool_result")
    .map((block) => ({ role: "tool", tool_call_id: String(block.tool_use_id), content: plain(block.content) }));
  const calls = blocks
    .filter(({ type }) => type === "tool_use")
    .map(({ id, name, input }) => ({
      id: String(id),
      function: { name: String(name), arguments: JSON.stringify(input) },
    }));
  const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => ({ type: "text", text }));
  const rest =
    texts.length === 0 && calls.length === 0
      ? []
      : [{ role, content: texts, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
  return [...results, ...rest];
}

/** Without the marks of the cache, which move. */
function plain(content: unknown): unknown {
  return JSON.parse(JSON.stringify(content ?? "", (name, value) => (name === "cache_control" ? undefined : value)));
}

/** The conversation of a body in one shape, without what is system prompt. */
export function withoutPrompt(body: RequestBody): RequestBody {
  const isPrompt = ({ content }: WireMessage) => typeof content === "string" && content.startsWith(promptMark);
  return { ...body, messages: body.messages.filter((message) => !isPrompt(message)) };
}

/** The costs of the calls of one session. */
export function costsOf(bodies: readonly Json[]): CallCost[] {
  const shaped = bodies.map(inOneShape);
  const calls = measureCalls(
    shaped.map((body) => ({ ...body, messages: body.messages.filter((message) => !isInternal(message)) })),
  );
  return calls.map((call, at) => {
    const [whole] = measureCalls([shaped[at]]);
    return { ...call, sent: whole.sent };
  });
}

/** What a session came to. */
export interface Bill {
  calls: number;
  sent: number;
  /** Share of what was sent that the provider's cache served. */
  cached: number;
  /** In tokens of the price of an uncached one. */
  bill: number;
  /** The largest request. */
  largest: number;
  /** Requests that do not begin with all of the one before. */
  rewrites: number;
}

/** The bill of a session in a format. */
export function billOf(wire: Wire, bodies: readonly Json[]): Bill {
  const calls = costsOf(bodies);
  const price = priceOf[wire];
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  const sent = sum(calls.map((call) => call.sent));
  return {
    calls: calls.length,
    sent,
    cached: sum(calls.map((call) => cachedTokens(call, price))) / sent,
    bill: Math.round(bill(calls, price)),
    largest: Math.max(...calls.map((call) => call.sent)),
    rewrites: calls.filter((call) => !call.grew).length,
  };
}
