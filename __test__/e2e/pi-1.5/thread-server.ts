// A server on loopback that speaks Anthropic's messages with message threads: a request creates a thread or continues from a reply,
// and then brings only what is new. Keeps each request as it came, and what the server has of the conversation then. Refuses a thread
// that it does not know, as Anthropic does. Checks nothing.

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createSandbox } from "../../../scripts/lib/pi.js";
import { posted } from "../providers.ts";

export type Json = Record<string, unknown>;

/** What the model answers: one call of a tool, or a text. */
export type Answer = { text: string } | { tool: string; args: object };

export interface Request {
  readonly body: Json;
  /** `create`, `continue`; undefined for a request without a thread, such as one that only keeps the cache warm. */
  readonly kind: string | undefined;
  /** All messages that the model has then; undefined if the thread is not known. */
  readonly messages: Json[] | undefined;
  /** Whether it asks for one token, to keep the cache warm. */
  readonly warms: boolean;
}

interface Options {
  apiKey?: string;
  /** More of the model's data. */
  model?: Json;
  settings?: Json;
  palimpsest?: Json;
  files?: Record<string, string>;
  /** Usage that is reported of every request; by default about the tokens of its messages, those that the thread had from the cache. */
  usage?: Json;
}

/** Starts the server and a sandbox whose only model it is. `forget` has it forget all threads. */
export async function startThreads(answers: Answer[], options: Options = {}) {
  const { apiKey = "sk-ant-api", model, settings, palimpsest, files, usage } = options;
  const requests: Request[] = [];
  const threads = new Map<string, Json[]>();
  const server = createServer(async (request, response) => {
    const sent = await posted(request, response);
    if (sent === undefined) {
      return;
    }
    const body = JSON.parse(sent) as Json;
    const thread = body.thread as { type: string; previous_message_id?: string } | undefined;
    const isNew = thread?.type !== "continue";
    const before = isNew ? [] : threads.get(String(thread?.previous_message_id));
    const messages = before === undefined ? undefined : [...before, ...(body.messages as Json[])];
    const warms = body.max_tokens === 1;
    requests.push({ body, kind: thread?.type, messages, warms });
    if (messages === undefined) {
      response.writeHead(404, { "content-type": "application/json" });
      const details = { error_code: "thread_not_found" };
      response.end(
        JSON.stringify({ type: "error", error: { type: "not_found_error", message: "no such thread", details } }),
      );
      return;
    }
    const answered = requests.filter((known) => !known.warms && known.messages !== undefined).length;
    const answer = warms ? { text: "." } : (answers[answered - 1] ?? { text: "script ended" });
    const id = `msg_${requests.length}`;
    threads.set(id, [...messages, { role: "assistant", content: [blockOf(answer, requests.length)] }]);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events(answer, id, requests.length, usage ?? usageOf(messages, before))) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const sandbox = createSandbox({ baseUrl, files, palimpsest: { prices: "anthropic", ...palimpsest } });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    sandbox.remove();
  });
  const models = [
    { id: "claude-x", contextWindow: 1_000_000, maxTokens: 8_000, compat: { supportsMessageThreads: true }, ...model },
  ];
  const provider = { baseUrl, api: "anthropic-messages", apiKey, models };
  const write = (name: string, value: unknown) => writeFileSync(join(sandbox.agentDir, name), JSON.stringify(value));
  write("models.json", { providers: { scripted: provider } });
  const defaults = { defaultProvider: "scripted", defaultModel: "claude-x", quietStartup: true };
  write("settings.json", { ...defaults, ...settings });
  return { requests, sandbox, forget: () => threads.clear() };
}

function usageOf(messages: Json[], before: Json[] | undefined): Json {
  const [all, cached] = [messages, before ?? []].map((list) => Math.ceil(JSON.stringify(list).length / 4));
  return { input_tokens: all - cached, cache_read_input_tokens: cached };
}

function blockOf(answer: Answer, n: number): Json {
  return "text" in answer
    ? { type: "text", text: answer.text }
    : { type: "tool_use", id: `toolu_${n}`, name: answer.tool, input: answer.args };
}

function events(answer: Answer, id: string, n: number, usage: Json): (Json & { type: string })[] {
  const isText = "text" in answer;
  const block = isText ? { type: "text", text: "" } : { ...blockOf(answer, n), input: {} };
  const delta = isText
    ? { type: "text_delta", text: answer.text }
    : { type: "input_json_delta", partial_json: JSON.stringify(answer.args) };
  const message = { id, type: "message", role: "assistant", model: "claude-x", content: [] };
  return [
    { type: "message_start", message: { ...message, usage: { output_tokens: 1, ...usage } } },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: isText ? "end_turn" : "tool_use" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
}
