// A server on loopback that speaks Codex's Responses over a WebSocket: a request may continue from a reply, and then brings only what is
// new. Keeps what came and what the model has of the conversation then. Checks nothing.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { Duplex } from "node:stream";
import { onTestFinished } from "vitest";
import { createSandbox } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { responseEvents, useModel } from "./providers.ts";
import type { WireOptions, WireScript } from "./wires.ts";

type Json = Record<string, unknown>;

export interface CodexRequest {
  /** As it would be without continuation: with all items that the model has. */
  readonly body: Json;
  /** Whether it continues from a reply. */
  readonly continues: boolean;
}

/** Starts the server and a sandbox whose only model it is. */
export async function startCodex(script: WireScript, { model, ...options }: WireOptions = {}) {
  const requests: CodexRequest[] = [];
  const held = new Map<string, Json[]>();
  const next =
    typeof script === "function" ? script : ({ n }: { n: number }): Step => script[n] ?? { text: "The end." };
  const server = createServer((_request, response) => response.writeHead(426).end());
  const open = new Set<Duplex>();

  async function answer(socket: Duplex, sent: string): Promise<void> {
    const { type: _, previous_response_id: from, ...body } = JSON.parse(sent) as Json;
    const input = [...(held.get(String(from)) ?? []), ...(body.input as Json[])];
    const n = requests.push({ body: { ...body, input }, continues: from !== undefined });
    const step = await next({ n: n - 1, body: { ...body, input } });
    const events = responseEvents(step, n, JSON.stringify(input).length);
    const { id, output } = events[events.length - 1].response as { id: string; output: Json[] };
    held.set(id, [...input, ...output]);
    for (const event of events) {
      socket.write(textFrame(JSON.stringify(event)));
    }
  }

  server.on("upgrade", (request, socket: Duplex) => {
    open.add(socket);
    const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
    socket.write([...lines, `Sec-WebSocket-Accept: ${accept}`, "", ""].join("\r\n"));
    socket.on("error", () => {});
    let rest: Buffer = Buffer.alloc(0);
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let frame = readFrame(rest); frame !== undefined; frame = readFrame(rest)) {
        rest = frame.rest;
        if (frame.opcode === 8) {
          socket.end(Buffer.from([0x88, 0]));
        } else if (frame.opcode <= 1) {
          text += frame.payload.toString("utf8");
          if (frame.isLast) {
            void answer(socket, text);
            text = "";
          }
        }
      }
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const sandbox = createSandbox({ ...options, baseUrl });
  onTestFinished(() => {
    for (const socket of open) {
      socket.destroy();
    }
    server.close();
    sandbox.remove();
  });
  const models = [{ id: "gpt-x", contextWindow: 1_000_000, maxTokens: 8_000, ...model }];
  useModel(sandbox, { baseUrl, api: "openai-codex-responses", apiKey: token(), models }, options.settings);
  return { requests, sandbox };
}

/** A token that names an account, as Codex's do. */
function token(): string {
  const claim = { "https://api.openai.com/auth": { chatgpt_account_id: "account" } };
  const parts = [{ alg: "none" }, claim].map((part) => Buffer.from(JSON.stringify(part)).toString("base64"));
  return [...parts, "signature"].join(".");
}

function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = payload.length < 126 ? Buffer.from([0x81, payload.length]) : Buffer.alloc(10);
  if (payload.length >= 126) {
    head.set([0x81, 127]);
    head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([head, payload]);
}

/** The first frame of a client, whose frames are masked; undefined until it is whole. */
function readFrame(data: Buffer) {
  if (data.length < 2) {
    return undefined;
  }
  const short = data[1] & 0x7f;
  const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
  if (data.length < start + 4) {
    return undefined;
  }
  const length = short === 126 ? data.readUInt16BE(2) : short === 127 ? Number(data.readBigUInt64BE(2)) : short;
  const end = start + 4 + length;
  if (data.length < end) {
    return undefined;
  }
  const mask = data.subarray(start, start + 4);
  const payload = Buffer.from(data.subarray(start + 4, end).map((byte, at) => byte ^ mask[at % 4]));
  return { opcode: data[0] & 0x0f, isLast: (data[0] & 0x80) !== 0, payload, rest: data.subarray(end) };
}
