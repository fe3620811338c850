// Servers that speak a provider's own protocol on loopback, answer by script and keep the bodies that they received. Nothing is
// checked here.

import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import { onTestFinished } from "vitest";
import { createSandbox } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";

/** What a model answers: a text or one call of a tool, or all that a step may have. */
export type Answer = { text: string } | { tool: string; args: object } | Step;

type Json = Record<string, unknown>;

/** How a format streams the `n`-th answer to a request of this length. */
interface Format {
  contentType: string;
  stream(step: Step, n: number, size: number): (string | Buffer)[];
}

const sse = (events: Json[]) => events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

/** Tokens of the prompt, as a step has them reported. */
const promptTokens = ({ usage }: Step, size: number) => usage?.in ?? Math.ceil(size / 4);

/** Calls with the IDs that a provider would give them. */
const callsOf = ({ calls = [] }: Step, prefix: string, n: number) =>
  calls.map(({ name, args, id }, at) => ({ name, args, id: id ?? `${prefix}_${n}_${at}` }));

const anthropic: Format = {
  contentType: "text/event-stream",
  stream(step, n, size) {
    const calls = callsOf(step, "toolu", n);
    const signature = `signature of ${n}`;
    const blocks: [Json, ...Json[]][] = [];
    if (step.thinking !== undefined) {
      const [thought, signed] = [
        { type: "thinking_delta", thinking: step.thinking },
        { type: "signature_delta", signature },
      ];
      blocks.push([{ type: "thinking", thinking: "", signature: "" }, thought, signed]);
    }
    if (step.text !== undefined) {
      blocks.push([
        { type: "text", text: "" },
        { type: "text_delta", text: step.text },
      ]);
    }
    for (const { name, args, id } of calls) {
      const input = { type: "input_json_delta", partial_json: JSON.stringify(args) };
      blocks.push([{ type: "tool_use", id, name, input: {} }, input]);
    }
    const message = { id: `msg_${n}`, type: "message", role: "assistant", model: "claude", content: [] };
    const cached = step.usage?.cached ?? 0;
    const usage = {
      input_tokens: promptTokens(step, size) - cached,
      output_tokens: 1,
      ...(cached > 0 ? { cache_read_input_tokens: cached } : {}),
    };
    return sse([
      { type: "message_start", message: { ...message, usage } },
      ...blocks.flatMap(([block, ...deltas], index) => [
        { type: "content_block_start", index, content_block: block },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      ]),
      {
        type: "message_delta",
        delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn" },
        usage: { output_tokens: 5 },
      },
      { type: "message_stop" },
    ]);
  },
};

const responses: Format = {
  contentType: "text/event-stream",
  stream: (step, n, size) => sse(responseEvents(step, n, size)),
};

/** The events of an answer of OpenAI's Responses. */
export function responseEvents(step: Step, n: number, size: number): Json[] {
  const id = `resp_${n}`;
  const items: Json[] = [];
  if (step.thinking !== undefined) {
    const summary = [{ type: "summary_text", text: step.thinking }];
    items.push({ type: "reasoning", id: `rs_${n}`, summary, encrypted_content: `sealed ${n}` });
  }
  if (step.text !== undefined) {
    const content = [{ type: "output_text", text: step.text, annotations: [] }];
    items.push({ type: "message", id: `msg_${n}`, role: "assistant", status: "completed", content });
  }
  for (const { name, args, id: call } of callsOf(step, "call", n)) {
    items.push({ type: "function_call", id: `fc_${call}`, call_id: call, name, arguments: JSON.stringify(args) });
  }
  const input = promptTokens(step, size);
  const usage = { input_tokens: input, output_tokens: 5, total_tokens: input + 5 };
  return [
    { type: "response.created", response: { id, status: "in_progress" } },
    ...items.flatMap((item, output_index) => [
      {
        type: "response.output_item.added",
        output_index,
        item: item.type === "message" ? { ...item, content: [] } : item,
      },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response: { id, status: "completed", usage, output: items } },
  ];
}

const bedrock: Format = {
  contentType: "application/vnd.amazon.eventstream",
  // One call, or one text.
  stream(step, n) {
    const [call] = callsOf(step, "tooluse", n);
    const isText = call === undefined;
    const start = isText ? {} : { start: { toolUse: { toolUseId: call.id, name: call.name } } };
    const delta = isText ? { text: step.text } : { toolUse: { input: JSON.stringify(call.args) } };
    return [
      frame("messageStart", { role: "assistant" }),
      ...(isText ? [] : [frame("contentBlockStart", { contentBlockIndex: 0, ...start })]),
      frame("contentBlockDelta", { contentBlockIndex: 0, delta }),
      frame("contentBlockStop", { contentBlockIndex: 0 }),
      frame("messageStop", { stopReason: isText ? "end_turn" : "tool_use" }),
      frame("metadata", { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, metrics: { latencyMs: 1 } }),
    ];
  },
};

const formats = { anthropic, bedrock, responses };
const apis = {
  anthropic: "anthropic-messages",
  bedrock: "bedrock-converse-stream",
  responses: "openai-responses",
};

/** An event of AWS's binary event streams. */
function frame(type: string, payload: Json): Buffer {
  const headers = Buffer.concat(
    Object.entries({ ":event-type": type, ":content-type": "application/json", ":message-type": "event" }).map(
      ([name, value]) => {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(value.length);
        return Buffer.concat([
          Buffer.from([name.length]),
          Buffer.from(name),
          Buffer.from([7]),
          length,
          Buffer.from(value),
        ]);
      },
    ),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const checksum = (bytes: Buffer) => {
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(bytes));
    return sum;
  };
  const message = Buffer.concat([prelude, checksum(prelude), headers, body]);
  return Buffer.concat([message, checksum(message)]);
}

/** What answers the `n`-th body, from 0. */
export type Script = Answer[] | ((request: { n: number; body: Json }) => Answer | Promise<Answer>);

interface ProviderOptions extends Omit<Parameters<typeof createSandbox>[0], "baseUrl"> {
  id: string;
  apiKey: string;
  /** More of the model's data. */
  model?: Json;
}

/** Starts a server that speaks a format; it is gone when the test has finished. */
export async function serve(format: keyof typeof formats, script: Script) {
  const { close, ...server } = await listen(format, script);
  onTestFinished(close);
  return server;
}

/** What was posted, whole. Whoever asks something else, or was killed while sending, is answered 404: then it is undefined. */
export async function posted(request: IncomingMessage, response: ServerResponse): Promise<string | undefined> {
  const sent = await text(request).catch(() => undefined);
  if (request.method === "POST" && sent !== undefined) {
    return sent;
  }
  response.writeHead(404).end();
}

/** Starts a server that speaks a format, until it is closed. */
export async function listen(format: keyof typeof formats, script: Script) {
  const bodies: Json[] = [];
  const { contentType, stream } = formats[format];
  const nextAnswer = typeof script === "function" ? script : ({ n }: { n: number }) => script[n] ?? ended;
  const server = createServer(async (request, response) => {
    const sent = await posted(request, response);
    if (sent === undefined) {
      return;
    }
    const body = JSON.parse(sent) as Json;
    const n = bodies.push(body);
    const step = stepOf(await nextAnswer({ n: n - 1, body }));
    if (step.status !== undefined) {
      const error = { type: step.status < 500 ? "invalid_request_error" : "api_error", message: step.error };
      response.writeHead(step.status, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "error", error }));
      return;
    }
    response.writeHead(200, { "content-type": contentType });
    for (const chunk of stream(step, n, sent.length)) {
      response.write(chunk);
      if (step.breaks && String(chunk).includes("_delta")) {
        // What is written goes out first.
        setImmediate(() => response.destroy());
        return;
      }
    }
    response.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  const address = server.address();
  return { bodies, baseUrl: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, close };
}

/** Starts a server and a sandbox whose only model it is; both are gone when the test has finished. */
export async function startProvider(
  format: keyof typeof formats,
  script: Script,
  { id, apiKey, model, ...options }: ProviderOptions,
) {
  const { bodies, baseUrl } = await serve(format, script);
  // A model on loopback would pass for a local one.
  const sandbox = createSandbox({ palimpsest: { prices: "anthropic" }, ...options, baseUrl });
  onTestFinished(() => sandbox.remove());
  const { contextWindow = 1_000_000, settings } = options;
  const models = [{ id, contextWindow, maxTokens: 8_000, ...model }];
  useModel(sandbox, { baseUrl, api: apis[format], apiKey, models }, settings);
  return { bodies, sandbox };
}

const ended: Step = { status: 400, error: "script ended" };

function stepOf(answer: Answer): Step {
  return "tool" in answer ? { calls: [{ name: answer.tool, args: answer.args }] } : answer;
}

/** Makes the first model of a provider the only one of a sandbox. */
export function useModel(
  sandbox: { agentDir: string },
  provider: { models: { id: string }[]; [key: string]: unknown },
  settings: Json = {},
) {
  const write = (name: string, value: unknown) => writeFileSync(join(sandbox.agentDir, name), JSON.stringify(value));
  write("models.json", { providers: { scripted: provider } });
  write("settings.json", {
    defaultProvider: "scripted",
    defaultModel: provider.models[0].id,
    quietStartup: true,
    ...settings,
  });
}
