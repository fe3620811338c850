// A model server on loopback that plays a script: OpenAI Completions with streaming, nothing else.
// Records every request body as received. It must not know Palimpsest, and decides nothing beyond the script.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { commonPrefixLength } from "./measure.js";

/**
 * What the model does in one call.
 * @typedef {object} Step
 * @property {string} [text] what it says
 * @property {string} [thinking] its reasoning, before the text
 * @property {{ name: string, args: unknown, id?: string }[]} [calls] tool calls; `args` given as a string is sent as is
 * @property {{ in: number, cached?: number } | null} [usage] prompt tokens to report, and how many of them came from a cache; null
 *   reports none; default: body length / 4, none cached
 * @property {number} [status] answer with this HTTP status and no message
 * @property {string} [error] what that answer says
 * @property {boolean} [breaks] whether the connection ends in the middle of the answer
 *
 * @typedef {{ role: string, content?: unknown, tool_calls?: { id: string, function: { name: string, arguments: string } }[],
 *   tool_call_id?: string, reasoning_content?: string }} WireMessage
 * @typedef {{ type: string, function: { name: string, description?: string, parameters?: unknown } }} WireTool
 * @typedef {{ model: string, messages: WireMessage[], tools?: WireTool[] }} RequestBody
 * @typedef {{ n: number, body: RequestBody }} ModelRequest `n` counts from 0
 *
 * @typedef {object} ScriptedModel
 * @property {string} baseUrl to be set as the provider's `baseUrl`
 * @property {ModelRequest[]} requests all requests so far, in order of arrival
 * @property {unknown[]} errors what went wrong while answering (a throwing script, a body that is not JSON)
 * @property {() => Promise<void>} close ends all connections; may be called twice
 */

/**
 * Starts a server that answers request `n` with step `n` of an array, or with what a function returns for it.
 * Past the array's end it answers 400, which Pi does not retry.
 *
 * @param {Step[] | ((request: ModelRequest) => Step | Promise<Step>)} script
 * @returns {Promise<ScriptedModel>}
 */
export async function startScriptedModel(script) {
  /** @type {ModelRequest[]} */
  const requests = [];
  /** @type {unknown[]} */
  const errors = [];
  const nextStep = typeof script === "function" ? script : arrayScript(script);

  const server = createServer(async (request, response) => {
    try {
      if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
        response.writeHead(404).end();
        return;
      }
      const body = JSON.parse(await text(request));
      const entry = { n: requests.length, body };
      requests.push(entry);
      answer(response, entry, await nextStep(entry));
    } catch (error) {
      errors.push(error);
      sendError(response, 400, String(error));
    }
  });
  // An abandoned server keeps no process alive.
  server.unref();
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(undefined));
  });
  const address = server.address();
  if (address === null || typeof address === "string") {
    throw new Error("the scripted model has no port");
  }
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    requests,
    errors,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * What a provider reports whose cache holds the messages of the request before: call the function once for each request, in order.
 * @returns {(body: RequestBody) => { in: number, cached: number }}
 */
export function usageWithCache() {
  let before = "";
  return ({ messages }) => {
    const text = JSON.stringify(messages);
    const shared = commonPrefixLength([text], [before]);
    before = text;
    return { in: Math.ceil(text.length / 4), cached: Math.floor(shared / 4) };
  };
}

/** @param {Step[]} steps */
function arrayScript(steps) {
  return (/** @type {ModelRequest} */ { n }) => steps[n] ?? { status: 400 };
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {ModelRequest} request
 * @param {Step} step
 */
function answer(response, request, step) {
  if (step.status !== undefined && step.status !== 200) {
    sendError(response, step.status, step.error ?? `scripted status ${step.status} for request ${request.n}`);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of toChunks(request, step)) {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (step.breaks) {
      // What is written goes out first.
      setImmediate(() => response.destroy());
      return;
    }
  }
  response.end("data: [DONE]\n\n");
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {number} status
 * @param {string} message
 */
function sendError(response, status, message) {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message, type: "scripted" } }));
}

/**
 * The chunks of one streamed completion, in the order in which OpenAI sends them.
 * @param {ModelRequest} request
 * @param {Step} step
 */
function toChunks({ n, body }, step) {
  const base = { id: `chatcmpl-${n}`, object: "chat.completion.chunk", created: 0, model: body.model };
  const delta = (/** @type {object} */ content, /** @type {string | null} */ finish = null) => ({
    ...base,
    choices: [{ index: 0, delta: content, finish_reason: finish }],
  });
  const chunks = [];
  if (step.thinking !== undefined) {
    chunks.push(delta({ reasoning_content: step.thinking }));
  }
  if (step.text !== undefined) {
    chunks.push(delta({ content: step.text }));
  }
  const calls = step.calls ?? [];
  for (const [index, call] of calls.entries()) {
    const args = typeof call.args === "string" ? call.args : JSON.stringify(call.args);
    const id = call.id ?? `call_${n}_${index}`;
    chunks.push(
      delta({ tool_calls: [{ index, id, type: "function", function: { name: call.name, arguments: args } }] }),
    );
  }
  chunks.push(delta({}, calls.length > 0 ? "tool_calls" : "stop"));
  if (step.usage === null) {
    return chunks;
  }
  const promptTokens = step.usage?.in ?? Math.ceil(JSON.stringify(body.messages).length / 4);
  const cached =
    step.usage?.cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: step.usage.cached } };
  const usage = { prompt_tokens: promptTokens, completion_tokens: 20, total_tokens: promptTokens + 20, ...cached };
  return [...chunks, { ...base, choices: [], usage }];
}
