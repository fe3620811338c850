// The inspector's page over HTTP, for this machine only: an address that nobody can guess, no writing, no other site. Knows no store.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { apiAnswer } from "./api.js";
import { backlog, Connections, serverOptions } from "./connections.js";
import { failureOf, Refusal } from "./failures.js";
import { Followers } from "./followers.js";
import { pageFiles } from "./page-files.js";
import { sendText } from "./texts.js";

/**
 * @import { IncomingMessage, ServerResponse } from "node:http"
 * @import { Answers } from "./answers.js"
 *
 * @typedef {object} Served
 * @property {string} url holds the token
 * @property {Promise<"idle" | "closed">} ended
 * @property {() => Promise<void>} close
 * @property {() => void} unref lets the process end while this serves
 */

const address = "127.0.0.1";

/** Nothing but what this server sends, and no markup of others. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const commonHeaders = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** @type {{ [status: number]: string }} */
const statusOfCode = {
  400: "INVALID_ARGUMENT",
  404: "NOT_FOUND UNKNOWN_NAME AMBIGUOUS_NAME",
  410: "FORGOTTEN",
  503: "TOO_MANY",
};

/**
 * Serves the page until it is closed, or nobody looked for a while.
 * @param {Answers} answers
 * @param {{ port?: number, idleMs: number }} options `port`: default: any that is free
 * @returns {Promise<Served>}
 */
export async function serve(answers, { port = 0, idleMs }) {
  // Without a page there is nothing to serve.
  await pageFiles();
  const inspector = new Inspector(answers, idleMs);
  await inspector.listen(port);
  answers.prepare();
  return {
    url: inspector.url,
    ended: inspector.ended,
    close: () => inspector.end("closed"),
    unref: () => inspector.unref(),
  };
}

class Inspector {
  /**
   * @param {Answers} answers
   * @param {number} idleMs
   */
  constructor(answers, idleMs) {
    this.answers = answers;
    this.idleMs = idleMs;
    this.token = randomBytes(16).toString("hex");
    this.followers = new Followers((id) => answers.newest(id), commonHeaders);
    this.url = "";
    /** @type {Set<string>} */
    this.hosts = new Set();
    /** Requests, streams of events included, that are not answered yet. */
    this.open = 0;
    /** @type {NodeJS.Timeout | undefined} */
    this.idle = undefined;
    // In a host's process nothing may reach the host.
    this.server = createServer(
      serverOptions,
      (request, response) => void this.take(request, response).catch(() => response.destroy()),
    );
    this.connections = new Connections(this.server);
    this.isEnded = false;
    /** @type {Promise<"idle" | "closed">} */
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
  }

  /** @param {number} port */
  async listen(port) {
    await new Promise((resolve, reject) => {
      this.server.once("error", (error) => reject(withoutPort(port, error)));
      this.server.listen({ port, host: address, backlog }, () => resolve(undefined));
    });
    const bound = /** @type {import("node:net").AddressInfo} */ (this.server.address()).port;
    this.hosts = new Set([`${address}:${bound}`, `localhost:${bound}`]);
    this.url = `http://${address}:${bound}/${this.token}/`;
    this.waitForViewers();
  }

  /** @param {"idle" | "closed"} why */
  async end(why) {
    if (!this.isEnded) {
      this.isEnded = true;
      clearTimeout(this.idle);
      this.followers.close();
      this.server.close(() => this.resolveEnded?.(why));
      this.server.closeAllConnections();
    }
    await this.ended;
  }

  unref() {
    this.server.unref();
    this.server.on("connection", (socket) => socket.unref());
  }

  waitForViewers() {
    clearTimeout(this.idle);
    if (this.open === 0 && !this.isEnded) {
      // What serves keeps the process alive, not what waits.
      this.idle = setTimeout(() => void this.end("idle"), this.idleMs).unref();
    }
  }

  /**
   * Answers a request. Who is refused is kept in no way: neither alive, nor the server by them, nor what else they sent.
   * @param {IncomingMessage} request
   * @param {ServerResponse} response
   */
  async take(request, response) {
    const path = this.pathOf(request);
    if (path === null) {
      refuse(
        response,
        403,
        "Refused. `palimpsest open` and `/context open` print the address of the page; it works on this machine only.\n",
      );
      return;
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      refuse(response, 405, "Only GET and HEAD are answered.\n", { allow: "GET, HEAD" });
      return;
    }
    if (request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) !== 0) {
      refuse(response, 400, "A request has no body here.\n");
      return;
    }
    const { socket } = request;
    if (!this.connections.begin(socket)) {
      socket.destroy();
      return;
    }
    this.open += 1;
    clearTimeout(this.idle);
    response.once("finish", () => this.connections.end(socket));
    response.once("close", () => {
      this.open -= 1;
      this.waitForViewers();
    });
    try {
      await this.answer(path, request, response);
    } catch (error) {
      sendFailure(response, error);
    }
  }

  /**
   * What a request asks for, behind the token; null where it must not ask.
   * @param {IncomingMessage} request
   */
  pathOf({ url = "", headers }) {
    const { host = "", origin } = headers;
    const isHere = this.hosts.has(host) && (origin === undefined || this.hosts.has(origin.replace(/^http:\/\//, "")));
    const [, token, path] = /^\/([^/?]*)(\/.*)?$/s.exec(url) ?? [];
    return isHere && token !== undefined && isSame(token, this.token) ? (path ?? "") : null;
  }

  /**
   * @param {string} path
   * @param {IncomingMessage} request
   * @param {ServerResponse} response
   */
  async answer(path, request, response) {
    const { pathname, searchParams } = new URL(`http://page${path}`);
    const [, route] = /^\/api\/([\w-]+)$/.exec(pathname) ?? [];
    if (route === "follow" && request.method === "GET") {
      return this.followers.add(searchParams.get("id") ?? "", request, response);
    }
    if (route !== undefined) {
      const given = await apiAnswer(this.answers, route, searchParams);
      return "text" in given
        ? sendText(response, commonHeaders, given.text)
        : send(response, 200, "application/json; charset=utf-8", JSON.stringify(given.json));
    }
    if (path === "") {
      return refuse(response, 308, "", { location: `/${this.token}/` });
    }
    return sendPage(response, pathname);
  }
}

/**
 * @param {number} port
 * @param {Error} error
 */
function withoutPort(port, error) {
  const { code } = /** @type {NodeJS.ErrnoException} */ (error);
  const why = code === "EADDRINUSE" ? "another program listens on it" : error.message;
  const hint = "choose another port, or none: then any that is free is taken";
  return Object.assign(new Refusal("NO_PORT", `port \`${port}\` cannot be used: ${why}`, hint), { cause: error });
}

/**
 * @param {ServerResponse} response
 * @param {string} pathname
 */
async function sendPage(response, pathname) {
  const { html, script, style } = await pageFiles();
  /** @type {{ [path: string]: [type: string, text: string] }} */
  const files = {
    "/": ["text/html", html],
    "/page.js": ["text/javascript", script],
    "/page.css": ["text/css", style],
  };
  const file = Object.hasOwn(files, pathname) ? files[pathname] : undefined;
  if (file === undefined) {
    return refuse(response, 404, "There is no such page.\n");
  }
  send(response, 200, `${file[0]}; charset=utf-8`, file[1]);
}

/**
 * @param {ServerResponse} response
 * @param {number} status
 * @param {string} type
 * @param {string} text
 */
function send(response, status, type, text) {
  const body = Buffer.from(text);
  response.writeHead(status, { ...commonHeaders, "content-type": type, "content-length": body.length });
  response.end(body);
}

/**
 * Ends the connection, too.
 * @param {ServerResponse} response
 * @param {number} status
 * @param {string} text
 * @param {{ [name: string]: string }} [headers]
 */
function refuse(response, status, text, headers = {}) {
  const ours = { connection: "close", "content-type": "text/plain; charset=utf-8" };
  response.writeHead(status, { ...commonHeaders, ...headers, ...ours });
  response.end(text);
}

/**
 * @param {ServerResponse} response
 * @param {unknown} error
 */
function sendFailure(response, error) {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const failure = failureOf(error);
  const fitting = Object.entries(statusOfCode).find(([, codes]) => codes.split(" ").includes(failure.code));
  send(response, Number(fitting?.[0] ?? 500), "application/json; charset=utf-8", JSON.stringify(failure));
}

/**
 * Whether two texts are the same; how long that takes says nothing about where they differ.
 * @param {string} given
 * @param {string} known
 */
function isSame(given, known) {
  const digest = (/** @type {string} */ text) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(known));
}
