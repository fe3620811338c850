// What the inspector answers to whom, over plain HTTP: no browser takes part.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openStore, type Store } from "../../index.js";
import { Answers } from "../../inspector/server/answers.js";
import { failureOf } from "../../inspector/server/failures.js";
import { serve } from "../../inspector/server/serve.js";
import { launch } from "../../scripts/lib/processes.js";
import { pinnedNode, root } from "../../scripts/setup.js";
import { privateFolder } from "./browser.ts";
import { type Made, secrets, withheldStore, workedStore } from "./stores.ts";

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  agent?: Agent | false;
}

/** Sends a path as it is: `fetch` would tidy it up. */
function ask(url: string, path: string, { method = "GET", headers = {}, agent = false }: Asked = {}): Promise<Answer> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, headers, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: Number(response.statusCode), headers: response.headers, text }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** The path of the page with its token, without a slash behind it. */
const tokenPath = (url: string) => new URL(url).pathname.replace(/\/$/, "");

const get = (url: string, rest: string, asked?: Asked) => ask(url, `${tokenPath(url)}${rest}`, asked);

/** A stream of events that is open until its end. */
async function follow(url: string, id: string) {
  const { port } = new URL(url);
  const path = `${tokenPath(url)}/api/follow?id=${encodeURIComponent(id)}`;
  const sent = request({ host: "127.0.0.1", port, path, agent: false });
  sent.end();
  const [response] = await once(sent, "response");
  const ended = new Promise<void>((resolve) => {
    response.on("error", () => {}).on("close", resolve);
  });
  response.resume();
  return { status: response.statusCode, headers: response.headers, ended, leave: () => sent.destroy() };
}

let made: Made;

beforeAll(async () => {
  made = await workedStore(privateFolder(), { turns: 2 });
});

/** Serves a store, opened for reading, until the test has finished. */
async function served(path = made.path, { idleMs = 60_000 } = {}) {
  const store = await openStore({ path, readOnly: true });
  const around = { settings: {}, agentDir: dirname(path), version: "0", session: null };
  const inspector = await serve(answersOf(store, around), { idleMs });
  onTestFinished(async () => {
    await inspector.close();
    await store.close();
  });
  return inspector;
}

const answersOf = (store: Store, around: Omit<Answers["around"], "store" | "refreshed" | "written">) =>
  new Answers({ ...around, store, refreshed: (work) => work(store), written: (work) => work(store) });

const policy = /^default-src 'none'; script-src 'self'; (?!.*unsafe)(?!.*https?:)/;

describe("who is refused", () => {
  test("everybody without the exact token", async () => {
    const { url } = await served();
    const token = tokenPath(url).slice(1);
    expect(token).toMatch(/^[0-9a-f]{32}$/);
    const wrong = `${token[0] === "0" ? "1" : "0"}${token.slice(1)}`;
    const tokens = ["", wrong, `${token}0`, token.slice(1), ` ${token}`, `%${token}`, "%00", "é"];
    const paths = [
      "/",
      "*",
      `//${token}/`,
      `/./${token}/`,
      `/x/../${token}/`,
      `/?token=${token}`,
      `http://127.0.0.1/${token}/`,
    ];
    for (const path of [...paths, ...tokens.map((other) => `/${encodeURI(other)}/api/about`)]) {
      const { status, text } = await ask(url, path);
      expect({ path, status }).toEqual({ path, status: 403 });
      expect(text).not.toContain(token);
    }
    expect((await get(url, "/")).status).toBe(200);
  });

  test("every host but 127.0.0.1 and localhost with the port", async () => {
    const { url } = await served();
    const { port } = new URL(url);
    const statusOf = async (host: string) => (await get(url, "/api/about", { headers: { host } })).status;
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      expect({ host, status: await statusOf(host) }).toEqual({ host, status: 200 });
    }
    const others = [
      "rebound.example",
      `rebound.example:${port}`,
      "127.0.0.1",
      "localhost",
      `127.0.0.1:${Number(port) + 1}`,
    ];
    for (const host of [...others, `[::1]:${port}`, `127.1:${port}`, `localhost.:${port}`, `a@127.0.0.1:${port}`]) {
      expect({ host, status: await statusOf(host) }).toEqual({ host, status: 403 });
    }
  });

  test("requests that another site's page sends", async () => {
    const { url } = await served();
    const { origin, port } = new URL(url);
    const statusOf = async (from: string) => (await get(url, "/api/about", { headers: { origin: from } })).status;
    expect(await statusOf(origin)).toBe(200);
    expect(await statusOf(`http://localhost:${port}`)).toBe(200);
    const others = [
      "https://elsewhere.example",
      "null",
      "",
      `https://127.0.0.1:${port}`,
      "http://127.0.0.1:1",
      `${origin}.example`,
    ];
    for (const from of others) {
      expect({ from, status: await statusOf(from) }).toEqual({ from, status: 403 });
    }
  });

  test("methods other than GET and HEAD", async () => {
    const { url } = await served();
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]) {
      const { status, headers } = await get(url, "/api/sessions", { method });
      expect({ method, status, allow: headers.allow }).toEqual({ method, status: 405, allow: "GET, HEAD" });
    }
    expect(await get(url, "/api/sessions", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  });

  test("whoever comes by another address of this machine", async () => {
    const { url } = await served();
    const others = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
    const tried = [...others.filter((address) => address !== "127.0.0.1" && !address.startsWith("fe80")), "127.0.0.2"];
    for (const host of tried) {
      const socket = connect({ host, port: Number(new URL(url).port) });
      const came = await Promise.race([once(socket, "connect"), once(socket, "error")]).catch((error) => [error]);
      socket.destroy();
      expect({ host, came: (came[0] as { code?: string } | undefined)?.code }).toEqual({
        host,
        came: expect.stringMatching(/ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH/),
      });
    }
  });
});

describe("what is answered", () => {
  test("has a policy that lets the page load and ask nothing else", async () => {
    const { url } = await served();
    const session = encodeURIComponent(made.session);
    const stream = await follow(url, made.session);
    const all = {
      page: await get(url, "/"),
      script: await get(url, "/page.js"),
      style: await get(url, "/page.css"),
      json: await get(url, "/api/sessions"),
      text: await get(url, `/api/message?id=${session}&call=1&at=0&of=sent`),
      "a way on": await get(url, ""),
      absent: await get(url, "/nothing"),
      failed: await get(url, "/api/session?id=unknown"),
      refused: await ask(url, "/"),
      "a wrong method": await get(url, "/", { method: "POST" }),
      stream,
    };
    stream.leave();
    for (const [name, { headers }] of Object.entries(all)) {
      expect({ name, ...headers }).toMatchObject({
        name,
        "content-security-policy": expect.stringMatching(policy),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
      });
      expect(headers).not.toHaveProperty("access-control-allow-origin");
    }
    expect(Object.fromEntries(Object.entries(all).map(([name, { status }]) => [name, status]))).toEqual({
      page: 200,
      script: 200,
      style: 200,
      json: 200,
      text: 200,
      "a way on": 308,
      absent: 404,
      failed: 404,
      refused: 403,
      "a wrong method": 405,
      stream: 200,
    });
  });

  test("is not a file but the page's, whatever the path", async () => {
    const { url } = await served();
    const paths = [
      "//",
      "///",
      "/..",
      "/../",
      "/../../package.json",
      "/%2e%2e/package.json",
      "/..%2fpackage.json",
      "/%5c..%5cpackage.json",
      "/\\..\\package.json",
      "/./page.html",
      "/page.js/",
      "/page.js%00",
      "//page.js",
      "/api",
      "/api/",
      "/api//about",
      "/api/about/",
      "//api/about",
      "/api/__proto__",
      "/api/constructor",
      "/__proto__",
      "/api/%61bout",
      "/API/about",
      "/http://elsewhere.example/",
    ];
    for (const path of paths) {
      const { status, text } = await get(url, path);
      // A dot that the address does not need leads to the page itself.
      const isPage = ["/..", "/../"].includes(path);
      expect({ path, status }).toEqual({ path, status: isPage ? 200 : 404 });
      expect(text).not.toContain('"devDependencies"');
    }
  });

  test("says what is wrong with any query, and goes on", async () => {
    const { url } = await served();
    const session = encodeURIComponent(made.session);
    const cases: [query: string, status: number, code: string | RegExp][] = [
      ["session", 400, "INVALID_ARGUMENT"],
      ["session?id=", 400, "INVALID_ARGUMENT"],
      ["session?id=unknown", 404, "UNKNOWN_NAME"],
      ["session?id=%00", 404, "UNKNOWN_NAME"],
      ["session?id=session%3A%00%ff%fe", 404, "UNKNOWN_NAME"],
      ["session?id=..%2f..%2fetc%2fpasswd", 404, "UNKNOWN_NAME"],
      [`session?id=${"x".repeat(10_000)}`, 404, "UNKNOWN_NAME"],
      ["follow?id=unknown", 404, /NAME|NOT_FOUND/],
      [`call?id=${session}&call=0`, 404, "NOT_FOUND"],
      [`call?id=${session}&call=99999`, 404, "NOT_FOUND"],
      [`call?id=${session}&call=-1`, 400, "INVALID_ARGUMENT"],
      [`call?id=${session}&call=1e3`, 400, "INVALID_ARGUMENT"],
      [`call?id=${session}&call=999999999999999`, 404, /NOT_FOUND|INVALID_ARGUMENT/],
      [`call?id=${session}&call=9999999999999999`, 400, "INVALID_ARGUMENT"],
      [`message?id=${session}&call=1&at=999&of=sent`, 404, "NOT_FOUND"],
      [`message?id=${session}&call=1&at=0&of=__proto__`, 404, "NOT_FOUND"],
      ["object?name=unknown.txt", 404, "UNKNOWN_NAME"],
      ["content?name=unknown&tx=1", 404, "UNKNOWN_NAME"],
      [`bills?${"session=a&".repeat(51)}`, 400, "INVALID_ARGUMENT"],
      [`what-if?id=${session}&setting.store=1`, 400, "INVALID_ARGUMENT"],
      [`what-if?id=${session}&setting.keepResults=%7b`, 400, "INVALID_ARGUMENT"],
      [`what-if?id=${session}&prices=none-such`, 400, /^INVALID/],
      ["nothing", 404, "NOT_FOUND"],
    ];
    for (const [query, status, code] of cases) {
      const answer = await get(url, `/api/${query}`);
      const said = JSON.parse(answer.text) as { code: string };
      expect({ query, status: answer.status, code: said.code }).toEqual({
        query,
        status,
        code: typeof code === "string" ? code : expect.stringMatching(code),
      });
    }
    // More than a request may have is refused before all of it was sent.
    const long = get(url, `/api/search?text=${"x".repeat(1 << 20)}`);
    expect([431, "ECONNRESET", "EPIPE"]).toContain(
      await long.then(
        ({ status }) => status,
        ({ code }) => code,
      ),
    );
    expect((await get(url, "/api/about")).status).toBe(200);
  });

  test("says that something was forgotten, without its text", async () => {
    const withheld = await withheldStore(privateFolder());
    const { url } = await served(withheld.path);
    const { objects } = JSON.parse(
      (await get(url, `/api/session?id=${encodeURIComponent(withheld.session)}`)).text,
    ).timeline;
    const texts = await Promise.all(
      objects.map(
        async ({ id }: { id: string }) => (await get(url, `/api/object?name=${encodeURIComponent(id)}`)).text,
      ),
    );
    expect(texts.join()).not.toContain(secrets.forgotten);
    const writable = await openStore({ path: withheld.path });
    await writable.maintenance.forget(withheld.session, { dryRun: false });
    await writable.close();
    const gone = await get(url, `/api/session?id=${encodeURIComponent(withheld.session)}`);
    expect({ status: gone.status, code: JSON.parse(gone.text).code }).toEqual({ status: 410, code: "FORGOTTEN" });
  });

  test("says nothing of this disk where a file is elsewhere", async () => {
    const folder = privateFolder();
    writeFileSync(join(folder, "a.txt"), "one\n");
    const path = join(folder, "store.sqlite");
    const states = [];
    for (const settings of [{}, { filesystemId: "elsewhere" }]) {
      const store = await openStore({ path, settings });
      await store.index([join(folder, "a.txt")]);
      const id = await store.find(join(folder, "a.txt"));
      await store.relations([id]);
      await store.close();
      const { url } = await served(path);
      states.push(JSON.parse((await get(url, `/api/object?name=${id}`)).text).disk?.state);
    }
    expect(states).toEqual(["same", undefined]);
  });

  test("says what to do if the addon lacks a method", async () => {
    const store = await openStore({ path: made.path, readOnly: true });
    const old = new Proxy(store, {
      get: (target, key) => {
        const value = key === "timeline" ? undefined : Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const around = { settings: {}, agentDir: dirname(made.path), version: "0", session: null };
    const inspector = await serve(answersOf(old, around), { idleMs: 60_000 });
    onTestFinished(async () => {
      await inspector.close();
      await store.close();
    });
    const { status, text } = await get(inspector.url, `/api/session?id=${encodeURIComponent(made.session)}`);
    expect({ status, ...JSON.parse(text) }).toEqual({
      status: 500,
      code: "OLD_ADDON",
      message: "the native addon is older than the inspector: its store has no `timeline`",
      hint: "install palimpsest again, or run `npm run build` in the clone; then start this again",
    });
    expect(failureOf(new TypeError("page.draw is not a function"))).toMatchObject({ code: "INTERNAL" });
  });
});

describe("the folder that a session names", () => {
  /** What a folder holds, links as such. */
  const heldBy = (folder: string): Record<string, string> =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
        const path = join(entry.parentPath, entry.name);
        const [isLink, isFile] = [entry.isSymbolicLink(), entry.isFile()];
        return [path, isLink ? `-> ${readlinkSync(path)}` : isFile ? readFileSync(path, "utf8") : "a folder"];
      }),
    );

  test("is never changed by requests, even through links", async () => {
    const folder = privateFolder();
    const clone = join(folder, "project");
    const memory = join(clone, ".pi", "memory");
    mkdirSync(memory, { recursive: true });
    mkdirSync(join(clone, ".git"));
    writeFileSync(join(memory, "MEMORY.md"), "- rule: see `a.txt`\n");
    writeFileSync(join(clone, "a.txt"), "text\n");
    const sidecars = ["page-table", "page-facts", "page-facts.local", "traces", "writeback-journal"];
    for (const name of sidecars) {
      writeFileSync(join(clone, ".git", name), "as it was\n");
      symlinkSync(`../../.git/${name}`, join(memory, `${name}.jsonl`));
    }
    const { path, session } = await workedStore(folder, { turns: 1 });
    const before = heldBy(clone);
    const { url } = await served(path);
    const id = encodeURIComponent(session);
    const queries = [
      `memory?session=${id}`,
      `session?id=${id}`,
      `call?id=${id}&call=1`,
      `object?name=a.txt&session=${id}`,
    ];
    for (const query of [...queries, ...queries]) {
      await get(url, `/api/${query}`);
    }
    expect((await get(url, `/api/memory?session=${id}`)).status).toBe(200);
    expect(heldBy(clone)).toEqual(before);
  });
});

/** `palimpsest open` as a process of its own, which has printed its address. */
async function started(...args: string[]) {
  const { DISPLAY: _, WAYLAND_DISPLAY: __, PALIMPSEST_STORE: ___, ...env } = process.env as Record<string, string>;
  const command = [pinnedNode(), join(root, "bin", "palimpsest.js"), "open", ...args];
  const { child, finished, outcome } = launch({ name: "palimpsest open", command, cwd: root, env, deadlineMs: 30_000 });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await finished.catch(() => {});
  });
  await expect.poll(() => outcome.stderr, { timeout: 20_000 }).toMatch(/Ctrl-C ends it\n/);
  return { child, finished, url: outcome.stdout.trim() };
}

/** The SHA-256 of each file of a store. `-shm` and an empty `-wal` only say that somebody looks at it. */
function filesOf(path: string): Record<string, string> {
  const folder = dirname(path);
  const names = readdirSync(folder).filter((name) => name.startsWith("store.sqlite") && !name.endsWith("-shm"));
  const files = names.map((name) => ({ name, bytes: readFileSync(join(folder, name)) }));
  const written = files.filter(({ bytes }) => bytes.length > 0);
  return Object.fromEntries(written.map(({ name, bytes }) => [name, createHash("sha256").update(bytes).digest("hex")]));
}

/** All that a store holds, as an archive says it. */
async function archiveOf(path: string): Promise<string[]> {
  const archive = join(privateFolder(), "archive.jsonl");
  const store = await openStore({ path, readOnly: true });
  await store.maintenance.exportArchive({ path: archive });
  await store.close();
  // The first line and the last one say when it was written, and its hash.
  return readFileSync(archive, "utf8").trimEnd().split("\n").slice(1, -1);
}

describe("the store", () => {
  test("stays as it is, byte for byte, except for its indexes", async () => {
    const { path, session } = await workedStore(privateFolder(), { turns: 2 });
    const before = { files: filesOf(path), objects: await archiveOf(path) };
    const { url, child, finished } = await started("--store", path);
    const id = encodeURIComponent(session);
    const { timeline } = JSON.parse((await get(url, `/api/session?id=${id}`)).text);
    const file = timeline.objects.find(({ type }: { type: string }) => type === "file");
    const store = await openStore({ path, readOnly: true });
    const versions = await store.history(file.id);
    await store.close();
    const [newest, oldest] = [versions[0].txId, versions[versions.length - 1].txId];
    expect(newest).toBeGreaterThan(oldest);
    const stream = await follow(url, session);
    const name = `name=${encodeURIComponent(file.id)}`;
    const ofCall = [`call?id=${id}&call=3`, `plain?id=${id}&call=3`, `message?id=${id}&call=1&at=0&of=sent`];
    const ofObject = [`content?${name}&tx=${newest}`, `diff?${name}&from=${oldest}&to=${newest}`];
    const ofSession = [`bills?session=${id}`, `memory?session=${id}`, `what-if?id=${id}&prices=openai`];
    const statusOf = async (query: string) => ({ query, status: (await get(url, `/api/${query}`)).status });
    for (const query of ["about", "sessions", ...ofSession, ...ofCall, ...ofObject]) {
      expect(await statusOf(query)).toEqual({ query, status: 200 });
    }
    expect(filesOf(path)).toEqual(before.files);
    for (const query of [`object?${name}&session=${id}`, "search?text=progress"]) {
      expect(await statusOf(query)).toEqual({ query, status: 200 });
    }
    child.kill("SIGINT");
    await Promise.all([stream.ended, finished]);
    expect(filesOf(path)).not.toEqual(before.files);
    expect(await archiveOf(path)).toEqual(before.objects);
  });
});

describe("the end", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("comes at once by %s, with viewers too", async (signal) => {
    const { url, child, finished } = await started("--store", made.path);
    const stream = await follow(url, made.session);
    const idle = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
    await once(idle, "connect");
    const closed = once(idle, "close");
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    expect(await get(url, "/api/about", { agent })).toMatchObject({ status: 200 });
    const begun = performance.now();
    child.kill(signal);
    const { code, stdout } = await finished;
    expect(performance.now() - begun).toBeLessThan(3_000);
    expect({ code, signal: child.signalCode, stdout }).toEqual({ code: 0, signal: null, stdout: `${url}\n` });
    await Promise.all([stream.ended, closed]);
    await expect(get(url, "/")).rejects.toThrow("ECONNREFUSED");
  });

  test("comes by Ctrl-C pressed twice, without a word of an error", async () => {
    const { child, finished } = await started("--store", made.path);
    child.kill("SIGINT");
    child.kill("SIGINT");
    const { code, signal, stderr } = await finished;
    expect(code === 0 || signal === "SIGINT").toBe(true);
    expect(stderr).toMatch(/^[^\n]*Ctrl-C ends it\n$/);
  });

  test("comes after a while without requests that were accepted", async () => {
    const { url, ended } = await served(made.path, { idleMs: 300 });
    let isEnded = false;
    void ended.then(() => {
      isEnded = true;
    });
    while (!isEnded) {
      await ask(url, "/wrong/").catch(() => {});
    }
    expect(await ended).toBe("idle");
    await expect(get(url, "/")).rejects.toThrow("ECONNREFUSED");
  });

  test("does not come while somebody follows a session", async () => {
    const { url, ended } = await served(made.path, { idleMs: 200 });
    const stream = await follow(url, made.session);
    await setTimeout(800);
    expect((await get(url, "/api/about")).status).toBe(200);
    await setTimeout(800);
    stream.leave();
    expect(await ended).toBe("idle");
  });

  test("may come while the store is looked at for those who follow", async () => {
    const looks: (() => void)[] = [];
    const newest = async () => {
      await new Promise<void>((resolve) => looks.push(resolve));
      return { now: looks.length, told: 0 };
    };
    const inspector = await serve({ prepare() {}, newest } as unknown as Answers, { idleMs: 60_000 });
    const following = follow(inspector.url, "session:a");
    await expect.poll(() => looks.length).toBe(1);
    looks[0]();
    const stream = await following;
    await expect.poll(() => looks.length, { timeout: 5_000 }).toBe(2);
    const late = follow(inspector.url, "session:b").catch((error: Error) => error.message);
    await expect.poll(() => looks.length).toBe(3);
    await inspector.close();
    await stream.ended;
    // What is written to one who has gone would end the process.
    looks[1]();
    looks[2]();
    await setTimeout(50);
    expect(await late).toBe("socket hang up");
  });

  test("comes with the process that serves, whoever is looking", async () => {
    const script = `
      import { serve } from "./inspector/server/serve.js";
      const { url, unref } = await serve({ prepare() {}, newest: async () => ({ now: 1, told: 1 }) }, { idleMs: 60_000 });
      unref();
      console.log(url);
      process.stdin.once("data", () => process.stdin.unref());
    `;
    const command = [pinnedNode(), "--input-type=module", "-e", script];
    const env = process.env as Record<string, string>;
    const host = launch({ name: "a host", command, cwd: root, env, stdin: "pipe", deadlineMs: 20_000 });
    await expect.poll(() => host.outcome.stdout, { timeout: 10_000 }).toMatch(/\n/);
    const stream = await follow(host.outcome.stdout.trim(), "session:a");
    expect(stream.status).toBe(200);
    host.child.stdin?.write("done\n");
    expect(await host.finished).toMatchObject({ code: 0, stderr: "" });
    await stream.ended;
  });
});
