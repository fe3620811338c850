// `/context open`: the page that the real Pi serves of its session, over plain HTTP, and what Pi says of it.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionView } from "../../inspector/protocol.js";
import { programFile } from "../../lib/program.js";
import { runPi, runPiJson, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { extension, missing, said, start } from "./support.ts";
import { terminal } from "./terminal.ts";

type Pi = ReturnType<typeof startPiRpc>;

const files = { "a.txt": "one\ntwo\n" };
const steps: Step[] = [
  { calls: [{ name: "read", args: { path: "a.txt" } }] },
  { text: "Read it." },
  { calls: [{ name: "bash", args: { command: "seq 1 9" } }] },
  { text: "Counted." },
  ...Array.from({ length: 5 }, () => ({ text: "Done." })),
];

const address = /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/m;

async function opened(pi: Pi): Promise<{ url: string; id: string }> {
  const [url = ""] = address.exec(await said(pi, "/context open")) ?? [];
  const { session } = (await (await fetch(`${url}api/about`)).json()) as { session: string };
  return { url, id: encodeURIComponent(session) };
}

async function sessionOf({ url, id }: { url: string; id: string }): Promise<SessionView> {
  return (await fetch(`${url}api/session?id=${id}`)).json() as Promise<SessionView>;
}

const gone = { cause: { code: "ECONNREFUSED" } };

/** The next events of a session that is followed. */
async function follow({ url, id }: { url: string; id: string }) {
  const response = await fetch(`${url}api/follow?id=${id}`);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  let text = "";
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const ended = (async () => {
    for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
      text += piece.value;
    }
  })().catch(() => {});
  return { ended, changes: () => text.split("event: changed\n").length - 1 };
}

describe("in rpc mode", () => {
  test("the page needs the token, and follows the running session", async () => {
    const { sandbox } = await start(steps, { files });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    const told = await said(pi, "/context open");
    expect(told).toMatch(
      /^http:\S+\nOpen this address in a browser on this machine\. It follows this session; it closes with the session, with `\/context off`, or after 30 minutes without a viewer\.$/,
    );
    const page = await opened(pi);
    expect(told).toContain(page.url);
    expect(await (await fetch(page.url)).text()).toMatch(/^<!doctype html>/i);
    expect((await fetch(new URL("/", page.url))).status).toBe(403);
    const before = await sessionOf(page);
    expect(before).toMatchObject({ info: { harness: "pi" }, timeline: { calls: [{ number: 1 }, { number: 2 }] } });
    const stream = await follow(page);
    const known = stream.changes();
    await pi.prompt("and now?");
    await expect.poll(() => stream.changes(), { timeout: 10_000 }).toBeGreaterThan(known);
    await expect.poll(async () => (await sessionOf(page)).timeline.calls.length, { timeout: 10_000 }).toBe(4);
    expect(await (await fetch(`${page.url}api/call?id=${page.id}&call=4`)).text()).toContain("and now?");
    const found = (await (await fetch(`${page.url}api/search?text=now`)).json()) as { sessions: string[] };
    expect(found.sessions).toContain(decodeURIComponent(page.id));
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    await stream.ended;
    await expect(fetch(page.url)).rejects.toMatchObject(gone);
    expect(pi.records.filter(({ type }) => type === "extension_error")).toEqual([]);
  });

  test("the page shows a new session after its first call", async () => {
    const { sandbox } = await start(steps, { files });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    const page = await opened(pi);
    const early = await fetch(`${page.url}api/session?id=${page.id}`);
    expect(early.status).toBe(404);
    expect(await early.json()).toMatchObject({ message: "this session has made no call yet" });
    const stream = await follow(page);
    await pi.prompt("go");
    await expect.poll(() => stream.changes(), { timeout: 10_000 }).toBeGreaterThan(0);
    expect((await sessionOf(page)).timeline.calls.length).toBeGreaterThan(0);
    await pi.close();
    await stream.ended;
  });

  test("looking at the page does not change requests to the model", async () => {
    const looks = async (isLookedAt: boolean) => {
      const { model, sandbox } = await start(steps, { files });
      const pi = startPiRpc(sandbox, ["-e", extension]);
      for (const words of ["go", "and now?", "and then?"]) {
        if (isLookedAt) {
          const page = await opened(pi);
          await (await fetch(`${page.url}api/sessions`)).text();
          await (await fetch(`${page.url}api/search?text=seq`)).text();
        }
        await pi.prompt(words);
      }
      expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
      expect(model.requests).toHaveLength(5);
      return JSON.parse(JSON.stringify(model.requests).replaceAll(sandbox.dir, "<sandbox>"));
    };
    expect(await looks(true)).toEqual(await looks(false));
  });

  test("the page ends with a new session or `/context off`", async () => {
    const { sandbox } = await start(steps, { files });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    const first = await opened(pi);
    await pi.send({ type: "new_session" });
    await expect(fetch(first.url)).rejects.toMatchObject(gone);
    await pi.prompt("and now?");
    const second = await opened(pi);
    expect(second.url).not.toBe(first.url);
    expect(second.id).not.toBe(first.id);
    expect(await said(pi, "/context layout pools")).toContain("The layout is `pools`");
    expect((await fetch(second.url)).status).toBe(200);
    await said(pi, "/context off");
    await expect(fetch(second.url)).rejects.toMatchObject(gone);
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  });

  test("the page ends when the session moves to another store", async () => {
    const { sandbox } = await start(steps, { files });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    const lost = await opened(pi);
    const folder = join(sandbox.agentDir, "palimpsest");
    for (const name of readdirSync(folder).filter((each) => each.startsWith("store.sqlite"))) {
      rmSync(join(folder, name));
    }
    await pi.prompt("and now?");
    await expect(fetch(lost.url)).rejects.toMatchObject(gone);
    expect((await sessionOf(await opened(pi))).timeline.calls.length).toBe(4);
    expect(await pi.close()).toMatchObject({ code: 0 });
    expect(pi.records.filter(({ type }) => type === "extension_error")).toEqual([]);
  });

  test("the page shows what is stored where Palimpsest is off", async () => {
    const { sandbox } = await start(steps, { files });
    const pi = startPiRpc(sandbox, ["-e", extension, "--session-id", "mine"]);
    await pi.prompt("go");
    await said(pi, "/context off");
    await pi.prompt("and now?");
    const page = await opened(pi);
    expect((await sessionOf(page)).timeline.calls.length).toBe(2);
    await pi.send({ type: "new_session" });
    await pi.close();
    const never = startPiRpc(sandbox, ["-e", extension, "--no-context"]);
    expect(await said(never, "/context open")).toContain(
      "No call of this session is stored yet, so it lists the others; ",
    );
    await never.close();
    writeFileSync(join(sandbox.agentDir, "palimpsest.json"), '{ "layout": ');
    const wrong = startPiRpc(sandbox, ["-e", extension]);
    expect(await said(wrong, "/context open")).toMatch(/not JSON.*INVALID_SETTINGS/);
    await wrong.close();
    writeFileSync(join(sandbox.agentDir, "palimpsest.json"), "{}");
    writeFileSync(join(sandbox.agentDir, "palimpsest", "store.sqlite"), "no store");
    const broken = startPiRpc(sandbox, ["-e", extension]);
    expect(await said(broken, "/context open")).toMatch(/store\.sqlite.*\([A-Z_]+\)/);
    expect(await broken.close()).toMatchObject({ code: 0 });
  });

  test("a session that is kept in memory has a page, too", async () => {
    const { sandbox } = await start(steps, { files });
    const pi = startPiRpc(sandbox, ["-e", extension, "--no-session"]);
    await pi.prompt("go");
    const page = await opened(pi);
    expect((await sessionOf(page)).timeline.calls.length).toBe(2);
    expect((await fetch(`${page.url}api/search?text=one`)).status).toBe(200);
    await said(pi, "/context layout pools");
    await expect(fetch(page.url)).rejects.toMatchObject(gone);
    await pi.prompt("and now?");
    const again = await opened(pi);
    expect((await sessionOf(again)).timeline.calls.length).toBeGreaterThan(0);
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    await expect(fetch(again.url)).rejects.toMatchObject(gone);
  });

  test("no browser is opened, since the user may be elsewhere", async () => {
    const { sandbox } = await start(steps, { files });
    const { env, given } = withBrowser(sandbox);
    const pi = startPiRpc(sandbox, ["-e", extension], { env });
    expect(await said(pi, "/context open")).toContain("Open this address in a browser");
    await pi.close();
    expect(given()).toBeNull();
  });
});

/** A screen, and a program that stands for the one that opens browsers; it writes down what it is given. */
function withBrowser({ dir, env }: Sandbox) {
  const programs = join(dir, "programs");
  const given = join(programs, "given");
  mkdirSync(programs);
  writeFileSync(join(programs, "xdg-open"), `#!/bin/sh\necho "$@" >> "${given}"\n`);
  chmodSync(join(programs, "xdg-open"), 0o755);
  return {
    env: { DISPLAY: ":9", PATH: [programs, env.PATH].join(delimiter) },
    given: () => (existsSync(given) ? readFileSync(given, "utf8") : null),
  };
}

test("print and json mode print the command to run", async () => {
  const { model, sandbox } = await start(steps, { files });
  await runPi(sandbox, ["-e", extension, "--session-id", "mine", "-p", "go"]);
  const store = join(sandbox.agentDir, "palimpsest", "store.sqlite");
  const command = `node ${programFile} open session:mine --store ${store}`;
  const told = `Pi ends with this answer. To look at what is stored, run: \`${command}\`\n`;
  const printed = await runPi(sandbox, ["-e", extension, "--continue", "-p", "/context open"]);
  expect(printed).toMatchObject({ code: 0, stderr: told });
  const json = await runPiJson(sandbox, ["-e", extension, "--continue", "/context open"]);
  expect(json).toMatchObject({ code: 0, stderr: told });
  const unkept = await runPi(sandbox, ["-e", extension, "--no-session", "-p", "/context open"]);
  expect(unkept).toMatchObject({ code: 0, stderr: expect.stringMatching(/^This session is kept in memory/) });
  expect(model.requests).toHaveLength(2);
});

test.skipIf(missing("tmux"))("a terminal opens the browser and shows the address", async () => {
  const { sandbox } = await start(steps, { files });
  const { env, given } = withBrowser(sandbox);
  const pi = terminal({ ...sandbox, env: { ...sandbox.env, ...env } }, { columns: 80, rows: 40 });
  await pi.shows(/^palimpsest on$/m);
  await pi.command("/context open");
  const screen = await pi.shows(/Opened in the browser\. It follows this session;/);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/m.exec(screen) ?? [];
  expect((await fetch(url)).status).toBe(200);
  expect(given()).toBe(`${url}\n`);
  await pi.command("/context open");
  await expect.poll(given, { timeout: 10_000 }).toBe(`${url}\n${url}\n`);
  await pi.quit();
  await expect(fetch(url)).rejects.toMatchObject(gone);
});
