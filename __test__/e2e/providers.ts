// Servers that speak a provider's own protocol on loopback, answer by script and keep the bodies that they received. One
// call of a tool or one text an answer; nothing is checked here.

import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { onTestFinished } from "vitest";
import { createSandbox } from "../../scripts/lib/pi.js";

/** What a model answers. */
export type Answer = { text: string } | { tool: string; args: object };

type Json = Record<string, unknown>;

/** How a format streams an answer. */
interface Format {
  contentType: string;
  stream(answer: Answer, n: number): (string | Buffer)[];
}

const anthropic: Format = {
  contentType: "text/event-stream",
  stream(answer, n) {
    const isText = "text" in answer;
    const block = isText
      ? { type: "text", text: "" }
      : { type: "tool_use", id: `toolu_${n}`, name: answer.tool, input: {} };
    const delta = isText
      ? { type: "text_delta", text: answer.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(answer.args) };
    const message = { id: `msg_${n}`, type: "message", role: "assistant", model: "claude", content: [] };
    const events: Json[] = [
      { type: "message_start", message: { ...message, usage: { input_tokens: 10, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: isText ? "end_turn" : "tool_use" }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  },
};

const bedrock: Format = {
  contentType: "application/vnd.amazon.eventstream",
  stream(answer, n) {
    const isText = "text" in answer;
    const start = isText ? {} : { start: { toolUse: { toolUseId: `tooluse_${n}`, name: answer.tool } } };
    const delta = isText ? { text: answer.text } : { toolUse: { input: JSON.stringify(answer.args) } };
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

const formats = { anthropic, bedrock };

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

/** Starts a server and a sandbox whose only model it is; both are gone when the test has finished. */
export async function startProvider(
  format: keyof typeof formats,
  script: Answer[],
  { id, apiKey, files }: { id: string; apiKey: string; files?: Record<string, string> },
) {
  const bodies: Json[] = [];
  const { contentType, stream } = formats[format];
  const server = createServer(async (request, response) => {
    bodies.push(JSON.parse(await text(request)));
    const answer = script[bodies.length - 1];
    if (answer === undefined) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: "script ended" } }),
      );
      return;
    }
    response.writeHead(200, { "content-type": contentType });
    for (const chunk of stream(answer, bodies.length)) {
      response.write(chunk);
    }
    response.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  // A model on loopback would pass for a local one.
  const sandbox = createSandbox({ baseUrl, files, palimpsest: { prices: "anthropic" } });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    sandbox.remove();
  });
  const api = { anthropic: "anthropic-messages", bedrock: "bedrock-converse-stream" }[format];
  const models = [{ id, contextWindow: 1_000_000, maxTokens: 8_000 }];
  useModel(sandbox, { baseUrl, api, apiKey, models });
  return { bodies, sandbox };
}

/** Makes the first model of a provider the only one of a sandbox. */
export function useModel(
  sandbox: { agentDir: string },
  provider: { models: { id: string }[]; [key: string]: unknown },
) {
  const write = (name: string, value: unknown) => writeFileSync(join(sandbox.agentDir, name), JSON.stringify(value));
  write("models.json", { providers: { scripted: provider } });
  write("settings.json", { defaultProvider: "scripted", defaultModel: provider.models[0].id, quietStartup: true });
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
