// A running gateway of OpenClaw and a connection to it: turns, slash commands, any RPC, all in one process, since each start
// of the command line takes seconds. Speaks the gateway's WebSocket protocol (docs/gateway/protocol of the package).
import { randomUUID } from "node:crypto";
import { defaultSessionKey, startOpenClaw } from "./openclaw.js";

/**
 * @typedef {import("./openclaw.js").OpenClawSandbox} OpenClawSandbox
 * @typedef {import("./processes.js").Finished} Finished
 * @typedef {{ [key: string]: any }} Json
 * @typedef {{ event: string, payload: Json }} GatewayEvent
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

/** @typedef {Awaited<ReturnType<typeof startGateway>>} Gateway */

const protocol = 4;
const startDeadlineMs = 60_000;
const callDeadlineMs = 120_000;
const stopDeadlineMs = 30_000;

/**
 * Starts `openclaw gateway run` and connects to it.
 *
 * @param {OpenClawSandbox} sandbox
 * @param {{ env?: Record<string, string> }} [options]
 */
export async function startGateway(sandbox, options = {}) {
  const { child, finished, outcome } = startOpenClaw(sandbox, ["gateway", "run"], options);
  const connection = await connect(sandbox, finished).catch((error) => {
    child.kill("SIGKILL");
    throw new Error(`${error.message}\n${outcome.stdout}\n${outcome.stderr}`);
  });
  const { call, events, waitFor } = connection;

  /** @param {NodeJS.Signals} signal */
  const kill = (signal) => {
    child.kill(signal);
    return finished;
  };

  return {
    pid: child.pid,
    outcome,
    finished,
    events,
    waitFor,
    /**
     * Any RPC; rejects with the gateway's error.
     * @param {string} method
     * @param {Json} [params]
     * @returns {Promise<Json>}
     */
    call: async (method, params = {}) => (await call(method, params)).first,
    /**
     * Runs a turn and resolves when all of it is written; a failed one resolves, too.
     * @param {Turn} turn
     * @returns {Promise<Answered>}
     */
    async agent({ message, sessionKey = defaultSessionKey, params = {} }) {
      const { first, last } = await call("agent", { message, sessionKey, idempotencyKey: randomUUID(), ...params });
      const result = await last;
      const texts = (result.result?.payloads ?? []).map((/** @type {Json} */ payload) => payload.text ?? "");
      return { runId: first.runId, status: result.status, text: texts.join("\n"), result };
    },
    /**
     * Sends what a person types into a chat, such as `/new`; resolves to the answer.
     * @param {string} message
     * @param {{ sessionKey?: string, params?: Json }} [options]
     * @returns {Promise<{ runId: string, state: string, text: string }>}
     */
    async chat(message, { sessionKey = defaultSessionKey, params = {} } = {}) {
      const idempotencyKey = randomUUID();
      const ends = ["final", "error", "aborted"];
      const ended = waitFor(
        ({ event, payload }) => event === "chat" && payload.runId === idempotencyKey && ends.includes(payload.state),
      );
      await call("chat.send", { sessionKey, message, idempotencyKey, ...params });
      const { payload } = await ended;
      return {
        runId: idempotencyKey,
        state: payload.state,
        text: textOf(payload.message) || payload.errorMessage || "",
      };
    },
    /** Ends the process at once, as a crash or a user's `kill` does. */
    kill,
    /** Has the gateway end in order; kills it when it does not. */
    async stop() {
      connection.close();
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
async function connect({ port, token }, finished) {
  let ended = false;
  finished
    .catch(() => {})
    .finally(() => {
      ended = true;
    });
  const deadline = Date.now() + startDeadlineMs;
  let reason = "";
  while (!ended && Date.now() < deadline) {
    try {
      return await connectOnce(`ws://127.0.0.1:${port}`, token);
    } catch (error) {
      reason = String(error);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(ended ? "the gateway ended while it started" : `no connection to the gateway: ${reason}`);
}

/**
 * Rejects where nobody listens yet or the gateway is still starting.
 * @param {string} url
 * @param {string} token
 */
async function connectOnce(url, token) {
  const socket = new WebSocket(url);
  /** @type {GatewayEvent[]} */
  const events = [];
  /** @type {Set<{ matches: (event: GatewayEvent) => boolean, resolve: (event: GatewayEvent) => void, reject: (error: Error) => void }>} */
  const waiting = new Set();
  /** @type {Map<string, { answer: (payload: Json) => void, reject: (error: Error) => void }>} */
  const pending = new Map();
  let calls = 0;

  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data));
    if (frame.type === "res") {
      const { answer, reject } = pending.get(frame.id) ?? {};
      if (frame.ok) {
        answer?.(frame.payload);
      } else {
        // A turn that failed has what it came to beside the error.
        reject?.(Object.assign(new Error(`${frame.error?.code}: ${frame.error?.message}`), frame));
      }
      return;
    }
    events.push(frame);
    for (const waiter of waiting) {
      if (waiter.matches(frame)) {
        waiting.delete(waiter);
        waiter.resolve(frame);
      }
    }
  });
  const closed = new Promise((_, reject) => {
    socket.addEventListener("close", ({ code, reason }) => {
      const error = new Error(`the gateway closed the connection (${code} ${reason})`);
      reject(error);
      for (const { reject: giveUp } of [...pending.values(), ...waiting]) {
        giveUp(error);
      }
    });
    socket.addEventListener("error", () => reject(new Error("nobody listens")));
  });
  closed.catch(() => {});

  /**
   * `first` is the answer; `last` that of a request that is answered twice: at its admission and at its end.
   * @param {string} method
   * @param {Json} params
   * @returns {Promise<{ first: Json, last: Promise<Json> }>}
   */
  function call(method, params) {
    const id = String(++calls);
    return new Promise((resolve, reject) => {
      /** @type {PromiseWithResolvers<Json>} */
      const last = Promise.withResolvers();
      last.promise.catch(() => {});
      let answers = 0;
      const timer = setTimeout(() => fail(new Error(`no answer to ${method}`)), callDeadlineMs);
      /** @param {Error} error */
      const fail = (error) => {
        clearTimeout(timer);
        pending.delete(id);
        // The end of a failed turn is an answer.
        const { payload } = /** @type {{ payload?: Json }} */ (error);
        if (answers > 0 && payload !== undefined) {
          last.resolve(payload);
        } else {
          last.reject(error);
        }
        reject(error);
      };
      pending.set(id, {
        answer: (payload) => {
          if (answers++ === 0) {
            resolve({ first: payload, last: last.promise });
          } else {
            last.resolve(payload);
          }
          if (answers > 1 || payload?.status !== "accepted") {
            clearTimeout(timer);
            pending.delete(id);
          }
        },
        reject: fail,
      });
      socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  /**
   * The next event that matches, counted from now.
   * @param {(event: GatewayEvent) => boolean} matches
   * @returns {Promise<GatewayEvent>}
   */
  const waitFor = (matches) => new Promise((resolve, reject) => waiting.add({ matches, resolve, reject }));

  await Promise.race([waitFor(({ event }) => event === "connect.challenge"), closed]);
  // What OpenClaw's own background clients say of themselves: it spares them the pairing of devices.
  const client = { id: "gateway-client", version: "1", platform: process.platform, mode: "backend" };
  const scopes = ["operator.admin", "operator.read", "operator.write", "operator.approvals"];
  const hello = {
    minProtocol: protocol,
    maxProtocol: protocol,
    client,
    role: "operator",
    scopes,
    caps: [],
    auth: { token },
  };
  await call("connect", hello).catch((error) => {
    socket.close();
    throw error;
  });
  return { call, events, waitFor, close: () => socket.close() };
}
