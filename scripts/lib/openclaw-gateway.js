// A gateway of OpenClaw that tests start: turns and slash commands in one process, since each start of the command line takes seconds.
import { randomUUID } from "node:crypto";
import { defaultSessionKey, startOpenClaw } from "./openclaw.js";
import { connect } from "./openclaw-client.js";

/**
 * @typedef {import("./openclaw.js").OpenClawSandbox} OpenClawSandbox
 * @typedef {import("./openclaw-client.js").Json} Json
 * @typedef {import("./processes.js").Finished} Finished
 * @typedef {Awaited<ReturnType<typeof startGateway>>} Gateway
 *
 * @typedef {object} Turn
 * @property {string} message
 * @property {string} [sessionKey] default `agent:main:main`
 * @property {Json} [params] more parameters of the RPC `agent`
 *
 * @typedef {object} Answered how a turn ended
 * @property {string} runId
 * @property {string} status `ok`, or how it failed
 * @property {string} text what the agent said
 * @property {Json} result all that the gateway answered
 */

const startDeadlineMs = 150_000;
const stopDeadlineMs = 30_000;

/**
 * Starts `openclaw gateway run` and connects to it.
 *
 * @param {OpenClawSandbox} sandbox
 * @param {{ env?: Record<string, string>, launcher?: string[] }} [options]
 */
export async function startGateway(sandbox, options = {}) {
  const { child, finished, outcome } = startOpenClaw(sandbox, ["gateway", "run"], options);
  const client = await connectWhenReady(sandbox, finished).catch((error) => {
    child.kill("SIGKILL");
    throw new Error(`${error.message}\n${outcome.stdout}\n${outcome.stderr}`);
  });

  /** @param {NodeJS.Signals} signal */
  const kill = (signal) => {
    child.kill(signal);
    return finished;
  };

  return {
    pid: child.pid,
    outcome,
    finished,
    events: client.events,
    waitFor: client.waitFor.bind(client),
    /**
     * Any RPC.
     * @param {string} method
     * @param {Json} [params]
     */
    call: (method, params) => client.request(method, params).first,
    /**
     * Runs a turn and resolves when all of it is written; a failed one resolves, too.
     * @param {Turn} turn
     * @returns {Promise<Answered>}
     */
    async agent({ message, sessionKey = defaultSessionKey, params = {} }) {
      const runId = randomUUID();
      const { last } = client.request("agent", { message, sessionKey, idempotencyKey: runId, ...params });
      const result = await last;
      const texts = (result.result?.payloads ?? []).map((/** @type {Json} */ payload) => payload.text ?? "");
      return { runId, status: result.status, text: texts.join("\n"), result };
    },
    /**
     * Sends what a person types into a chat, such as `/new`; resolves to the answer.
     * @param {string} message
     * @param {{ sessionKey?: string, params?: Json }} [options]
     * @returns {Promise<{ runId: string, state: string, text: string }>}
     */
    async chat(message, { sessionKey = defaultSessionKey, params = {} } = {}) {
      const runId = randomUUID();
      const ends = ["final", "error", "aborted"];
      const ended = client.waitFor(
        ({ event, payload }) => event === "chat" && payload.runId === runId && ends.includes(payload.state),
      );
      await client.request("chat.send", { sessionKey, message, idempotencyKey: runId, ...params }).first;
      const { payload } = await ended;
      return { runId, state: payload.state, text: textOf(payload.message) || payload.errorMessage || "" };
    },
    /** Ends the process at once, as a crash or a user's `kill` does. */
    kill,
    /** Has the gateway end in order; kills it when it does not, as with a command in the background. */
    async stop() {
      client.close();
      const timer = setTimeout(() => child.kill("SIGKILL"), stopDeadlineMs);
      return kill("SIGTERM").finally(() => clearTimeout(timer));
    },
  };
}

/** @param {Json | undefined} message */
function textOf(message) {
  const content = message?.content ?? [];
  const blocks = typeof content === "string" ? [{ text: content }] : content;
  return blocks.map((/** @type {Json} */ block) => block.text ?? "").join("\n");
}

/**
 * Connects as soon as the gateway accepts.
 * @param {OpenClawSandbox} sandbox
 * @param {Promise<Finished>} finished of the gateway
 */
async function connectWhenReady({ port, token }, finished) {
  let ended = false;
  const end = () => {
    ended = true;
  };
  finished.then(end, end);
  const deadline = Date.now() + startDeadlineMs;
  let reason = "";
  while (!ended && Date.now() < deadline) {
    try {
      return await connect(`ws://127.0.0.1:${port}`, token);
    } catch (error) {
      reason = String(error);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(ended ? "the gateway ended while it started" : `no connection to the gateway: ${reason}`);
}
