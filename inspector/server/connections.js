// Who is connected to the inspector, and for how long. Anybody on this machine can connect, and each connection takes a descriptor of the
// process, which may be a host's: few are held, those of strangers leave first, and none waits long. Must not know what is asked for.

/**
 * @import { Server } from "node:http"
 * @import { Socket } from "node:net"
 *
 * @typedef {object} Connection
 * @property {boolean} isKnown has shown the token
 * @property {boolean} isAnswering has asked for what is not answered yet
 */

/** What an HTTP server is made with. A request is one line and a few headers: a page's browser sends it at once. */
export const serverOptions = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 3_000,
  requestTimeout: 3_000,
  connectionsCheckingInterval: 500,
  keepAliveTimeout: 3_000,
};

/** Connections at once: far below what a process may have open (256 on some systems); a browser opens six. */
const mostConnections = 64;

/**
 * Connections that wait for this process to take them. Few: they are taken all at once, and whoever sends its request with them must not have
 * left for the others before that is read.
 */
export const backlog = 16;

/** How long a reader may take nothing of what is written, in milliseconds. */
const stalledMs = 10_000;

export class Connections {
  /** @param {Server} server */
  constructor(server) {
    /** In the order in which they came. @type {Map<Socket, Connection>} */
    this.all = new Map();
    server.on("connection", (socket) => this.add(socket));
    server.on("clientError", (_error, socket) => socket.destroy());
    server.on("upgrade", (_request, socket) => socket.destroy());
    server.on("connect", (_request, socket) => socket.destroy());
    server.setTimeout(stalledMs, (socket) => this.endStalled(socket));
  }

  /**
   * Makes room for a connection: a stranger's goes before one that only waits, the oldest first.
   * @param {Socket} socket
   */
  add(socket) {
    if (this.all.size >= mostConnections) {
      const waiting = [...this.all].filter(([, { isAnswering }]) => !isAnswering);
      const [leaving = socket] = waiting.find(([, { isKnown }]) => !isKnown) ?? waiting[0] ?? [];
      this.all.delete(leaving);
      leaving.destroy();
    }
    if (!socket.destroyed) {
      this.all.set(socket, { isKnown: false, isAnswering: false });
      socket.once("close", () => this.all.delete(socket));
    }
  }

  /**
   * Notes that the token was shown, and that an answer begins; false where one is still on its way, as where requests are sent without
   * waiting for answers.
   * @param {Socket} socket
   */
  begin(socket) {
    const connection = this.all.get(socket);
    if (connection === undefined || connection.isAnswering) {
      return false;
    }
    connection.isKnown = true;
    connection.isAnswering = true;
    return true;
  }

  /** @param {Socket} socket */
  end(socket) {
    const connection = this.all.get(socket);
    if (connection !== undefined) {
      connection.isAnswering = false;
    }
  }

  /**
   * Ends a connection on which nothing has moved for a while, unless its answer is still being made, or is a stream with nothing to say.
   * @param {Socket} socket
   */
  endStalled(socket) {
    if (!this.all.get(socket)?.isAnswering || socket.writableLength > 0) {
      socket.destroy();
    }
  }
}
