// A client of OpenClaw's gateway over its WebSocket protocol (docs/gateway/protocol of the package): requests, events, and the handshake
// of a background client on loopback, which needs no pairing of devices. Must not know who runs the gateway.

/**
 * @typedef {{ [key: string]: any }} Json
 * @typedef {{ event: string, payload: Json }} GatewayEvent
 * @typedef {PromiseWithResolvers<Json>} Pending
 *
 * @typedef {object} Answers what comes back for a request
 * @property {Promise<Json>} first its answer
 * @property {Promise<Json>} last the second answer of one that is answered at its admission and at its end; a turn that failed has one, too
 */

const protocol = 4;
const answerDeadlineMs = 120_000;

/** A connection that has been admitted. */
class GatewayClient {
  /** All events so far. */
  events = /** @type {GatewayEvent[]} */ ([]);
  #socket;
  #requests = 0;
  #pending = /** @type {Map<string, { first: Pending, last: Pending }>} */ (new Map());
  #waiting = /** @type {Set<Pending & { matches: (event: GatewayEvent) => boolean }>} */ (new Set());

  /** @param {WebSocket} socket */
  constructor(socket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data))));
    socket.addEventListener("error", () => this.#end(new Error("the connection to the gateway failed")));
    socket.addEventListener("close", ({ code, reason }) =>
      this.#end(new Error(`the gateway closed the connection (${code} ${reason})`)),
    );
  }

  /**
   * Sends a request; its answers reject with the gateway's error.
   * @param {string} method
   * @param {Json} [params]
   * @returns {Answers}
   */
  request(method, params = {}) {
    const id = String(++this.#requests);
    const [first, last] = [pending(), pending()];
    this.#pending.set(id, { first, last });
    this.#socket.send(JSON.stringify({ type: "req", id, method, params }));
    return { first: inTime(first, method), last: inTime(last, `the end of ${method}`) };
  }

  /**
   * The next event that matches, counted from now; rejects when the connection ends first.
   * @param {(event: GatewayEvent) => boolean} matches
   * @returns {Promise<GatewayEvent>}
   */
  waitFor(matches) {
    const waiter = { ...pending(), matches };
    this.#waiting.add(waiter);
    return /** @type {Promise<any>} */ (waiter.promise);
  }

  close() {
    this.#socket.close();
  }

  /** @param {Json} frame */
  #receive(frame) {
    if (frame.type === "event") {
      const event = /** @type {GatewayEvent} */ (frame);
      this.events.push(event);
      for (const waiter of this.#waiting) {
        if (waiter.matches(event)) {
          this.#waiting.delete(waiter);
          waiter.resolve(event);
        }
      }
    } else if (frame.type === "res") {
      this.#answer(frame);
    }
  }

  /** @param {Json} frame */
  #answer({ id, ok, payload, error }) {
    const { first, last } = this.#pending.get(id) ?? {};
    // The end of a turn that failed says both what it came to and the error.
    const isEnd = payload !== undefined && payload !== null;
    if (ok || isEnd) {
      const isAdmission = payload?.status === "accepted";
      first?.resolve(payload);
      if (!isAdmission) {
        last?.resolve(payload);
        this.#pending.delete(id);
      }
    } else {
      const failure = new Error(`${error?.code}: ${error?.message}`);
      first?.reject(failure);
      last?.reject(failure);
      this.#pending.delete(id);
    }
  }

  /** @param {Error} error */
  #end(error) {
    const answers = [...this.#pending.values()].flatMap(({ first, last }) => [first, last]);
    for (const { reject } of [...answers, ...this.#waiting]) {
      reject(error);
    }
    this.#pending.clear();
    this.#waiting.clear();
  }
}

/**
 * Connects to a gateway. Rejects where nobody listens yet, or the gateway is still starting.
 * @param {string} url
 * @param {string} token
 */
export async function connect(url, token) {
  const client = new GatewayClient(new WebSocket(url));
  try {
    await client.waitFor(({ event }) => event === "connect.challenge");
    const { first } = client.request("connect", {
      minProtocol: protocol,
      maxProtocol: protocol,
      // What OpenClaw's own background clients say of themselves.
      client: { id: "gateway-client", version: "1", platform: process.platform, mode: "backend" },
      role: "operator",
      scopes: ["operator.admin", "operator.read", "operator.write", "operator.approvals"],
      caps: ["tool-events"],
      auth: { token },
    });
    await first;
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

/** A promise at which nobody need look. */
function pending() {
  /** @type {Pending} */
  const made = Promise.withResolvers();
  made.promise.catch(() => {});
  return made;
}

/**
 * @param {Pending} answer
 * @param {string} what
 */
function inTime({ promise, reject }, what) {
  const timer = setTimeout(() => reject(new Error(`no answer: ${what}`)), answerDeadlineMs);
  promise.catch(() => {}).finally(() => clearTimeout(timer));
  return promise;
}
