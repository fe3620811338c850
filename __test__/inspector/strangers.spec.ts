// What the inspector lets strangers hold, who can connect but lack the token, and its viewers too. Over plain sockets: no browser takes part.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Answers } from "../../inspector/server/answers.js";
import { serve } from "../../inspector/server/serve.js";

/** Serves answers that need no store, until the test has finished. */
async function served({ idleMs = 60_000 } = {}) {
  const answers = {
    prepare: () => {},
    about: async () => ({ version: "0" }),
    newest: async () => ({ now: 1, told: 1 }),
    content: async () => "x".repeat(1 << 26),
  };
  const inspector = await serve(answers as unknown as Answers, { idleMs });
  onTestFinished(() => inspector.close());
  const { port, pathname, host } = new URL(inspector.url);
  /** A request for what is behind the token, without the empty line that ends it. */
  const asking = (rest: string, ...headers: string[]) =>
    [`GET ${pathname}${rest} HTTP/1.1`, `Host: ${host}`, ...headers, ""].join("\r\n");
  return { ...inspector, host, pathname, asking, open: () => connected(Number(port)) };
}

function connected(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1" }).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Sockets of this process. */
const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

/** What comes back on a connection of its own until the server ends it. */
async function answered({ open }: { open: () => Socket }, sent: string): Promise<string> {
  const socket = open();
  socket.write(sent);
  return textOf(socket).catch(() => "");
}

describe("without the token", () => {
  test("any number of silent connections leaves the user served", async () => {
    const server = await served();
    const before = sockets();
    // Who does not read would not notice that it has ended.
    const held = new Set<Socket>();
    let isHeld = true;
    onTestFinished(() => {
      isHeld = false;
    });
    const hold = () => {
      const socket = server.open().resume();
      held.add(socket);
      socket.once("close", () => {
        held.delete(socket);
        if (isHeld) {
          hold();
        }
      });
    };
    for (let count = 0; count < 400; count += 1) {
      hold();
    }
    for (let count = 0; count < 20; count += 1) {
      expect(await answered(server, server.asking("api/about", "Connection: close", ""))).toContain('{"version":"0"}');
      // Those of the server are in this process, too; those that end are there for a moment.
      await expect.poll(() => sockets() - before - held.size).toBeLessThanOrEqual(64);
    }
  });

  test("a connection with no request or half a request ends", async () => {
    const server = await served();
    const asking = server.asking("api/about");
    const halves = ["", "G", asking.slice(0, 20), asking];
    // Each waits for the end.
    const ends = await Promise.all(halves.map((half) => answered(server, half)));
    expect(ends.filter((end) => end.includes("200 OK"))).toEqual([]);
  });

  test("only the address serves the page, and strangers are dropped", async () => {
    const server = await served();
    const refused = ["/ HTTP/1.1", `${server.pathname.slice(0, -2)}/ HTTP/1.1`];
    for (const line of refused) {
      const headers = [
        `Host: ${server.host}`,
        `Referer: ${server.url}`,
        `Cookie: ${server.pathname}`,
        "Content-Length: 9000000",
      ];
      const end = await answered(server, [`GET ${line}`, ...headers, "", "some of it"].join("\r\n"));
      expect(end).toMatch(/^HTTP\/1.1 403 /);
    }
  });
});

describe("with the token", () => {
  test("a request with a body or out of turn ends the connection", async () => {
    const server = await served();
    const body = await answered(server, server.asking("api/about", "Content-Length: 9000000", "", "some of it"));
    expect(body).toMatch(/^HTTP\/1.1 400 /);
    const chunked = await answered(server, server.asking("api/about", "Transfer-Encoding: chunked", "", "5", "hello"));
    expect(chunked).toMatch(/^HTTP\/1.1 400 /);
    expect(await answered(server, server.asking("api/about", "Upgrade: websocket", "Connection: Upgrade", ""))).toBe(
      "",
    );
    const tunnel = `CONNECT ${server.host} HTTP/1.1\r\nHost: ${server.host}\r\n\r\n`;
    expect(await answered(server, tunnel)).toBe("");
    const twice = server.asking("api/follow?id=a", "").repeat(2);
    expect(await answered(server, twice)).not.toContain("event: changed\nevent: changed");
    expect(await answered(server, server.asking("api/about", `X: ${"x".repeat(20_000)}`, ""))).toBe("");
  });

  test("successive requests share a connection until it is idle", async () => {
    const server = await served();
    const socket = server.open();
    for (let count = 0; count < 3; count += 1) {
      socket.write(server.asking("api/about", ""));
      const [answer] = await once(socket, "data");
      expect(String(answer)).toMatch(/^HTTP\/1.1 200 /);
    }
    await once(socket.resume(), "close");
  });

  test("a reader who takes nothing is let go", async () => {
    // Long enough to connect in, on a busy machine too.
    const server = await served({ idleMs: 2_000 });
    const socket = server.open();
    socket.pause().write(server.asking("api/content?name=a&tx=1", ""));
    await once(socket, "connect");
    // As long as it is answered somebody looks.
    expect(await server.ended).toBe("idle");
  });

  test("sessions are followed by few at once", async () => {
    const server = await served();
    const follow = async () => {
      const socket = server.open();
      socket.write(server.asking("api/follow?id=a", ""));
      const [answer] = await once(socket, "data");
      return { socket, answer: String(answer) };
    };
    const all = await Promise.all(Array.from({ length: 16 }, follow));
    expect(all.filter(({ answer }) => !answer.startsWith("HTTP/1.1 200 "))).toEqual([]);
    const { answer } = await follow();
    expect(answer).toMatch(/^HTTP\/1.1 503 .*"code":"TOO_MANY"/s);
    all[0].socket.destroy();
    await expect.poll(async () => (await follow()).answer.slice(0, 12)).toBe("HTTP/1.1 200");
  });
});
