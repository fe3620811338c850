// Palimpsest in OpenClaw where the window is small: requests fit, and one that a provider refuses is followed by a shorter one.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenClawSandbox, type OpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { call, fromNow, isPaired, linkPalimpsest, type Puppet, startPuppet } from "./support.ts";

const window = 32_000;
// A model with prices: for a free one content leaves as soon as that saves time.
const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const page = (name: string) =>
  Array.from(
    { length: 240 },
    (_, at) => `${name} ${at + 1}: what this line says stands in no other file, ${at * 7919}`,
  ).join("\n");
const names = Array.from({ length: 12 }, (_, at) => `page-${at + 1}.txt`);
let model: Puppet;
let sandbox: OpenClawSandbox;
let gateway: Gateway;

beforeAll(async () => {
  model = await startPuppet();
  const files = Object.fromEntries(names.map((name) => [name, page(name)]));
  sandbox = await createOpenClawSandbox({
    baseUrl: model.baseUrl,
    files,
    model: { contextWindow: window, maxTokens: 4_000, cost },
  });
  linkPalimpsest(sandbox);
  gateway = await startGateway(sandbox);
});

afterAll(async () => {
  await gateway?.stop();
  await model?.close();
  await sandbox?.remove();
});

const refused = {
  status: 400,
  error: "This model's maximum context length is 12000 tokens. However, your messages resulted in 20000 tokens.",
};
const read = (name: string) => call("read", { path: name });
const tokensOf = (body: RequestBody) => JSON.stringify(body).length / 4;

/** Plays turns, each of which reads a file, and resolves to all requests. */
async function reading(sessionKey: string, turns: string[]): Promise<RequestBody[]> {
  const since = fromNow(model);
  for (const name of turns) {
    model.play(read(name), { text: `read ${name}` } satisfies Step);
    expect(await gateway.agent({ sessionKey, message: `read ${name}` })).toMatchObject({ status: "ok" });
  }
  return since();
}

test("requests stay in the window over a session that is longer", async () => {
  const requests = await reading("agent:main:long", names);
  expect(requests).toHaveLength(2 * names.length);
  expect(Math.max(...requests.map(tokensOf))).toBeLessThan(window);
  expect(requests.every(isPaired)).toBe(true);
});

test("a request refused as too long is followed by a shorter one", async () => {
  const key = "agent:main:refused";
  await reading(key, names.slice(0, 2));
  const since = fromNow(model);
  model.play(refused, { text: "done" });
  expect(await gateway.agent({ sessionKey: key, message: "go on" })).toMatchObject({ status: "ok", text: "done" });
  const [before, after] = since();
  expect(tokensOf(after)).toBeLessThan(tokensOf(before));
});

test("OpenClaw compacts by itself if that is refused too", async () => {
  const key = "agent:main:twice";
  await reading(key, names.slice(0, 3));
  const since = fromNow(model);
  model.play(refused, refused, { text: "## Goal\nA summary of what was said" }, { text: "done" }, { text: "done" });
  expect(await gateway.agent({ sessionKey: key, message: "go on" })).toMatchObject({ status: "ok", text: "done" });
  expect(since().some((body) => JSON.stringify(body).includes("A summary of what was said"))).toBe(true);
  const [after] = await reading(key, ["page-4.txt"]);
  expect(isPaired(after)).toBe(true);
  expect(JSON.stringify(after)).toContain("A summary of what was said");
});

test("`/compact` asks no model, and the next request is shorter", async () => {
  const key = "agent:main:compact";
  const [, , , before] = await reading(key, names.slice(0, 2));
  const since = fromNow(model);
  const { text } = await gateway.chat("/compact", { sessionKey: key });
  expect(text).toContain("Palimpsest needs no summary");
  expect(since()).toEqual([]);
  const [after] = await reading(key, ["page-3.txt"]);
  expect(tokensOf(after)).toBeLessThan(tokensOf(before));
});

test("the turn after `/compact` has the room of the window", async () => {
  const key = "agent:main:room";
  await reading(key, names.slice(0, 3));
  await gateway.chat("/compact", { sessionKey: key });
  const since = fromNow(model);
  model.play(call("activate", { name: "page-1.txt" }), read("page-5.txt"), { text: "done" });
  expect(await gateway.agent({ sessionKey: key, message: "look at it again" })).toMatchObject({ status: "ok" });
  const bodies = since();
  const last = JSON.stringify(bodies.at(-1));
  for (const name of ["page-1.txt", "page-5.txt"]) {
    expect(last.includes(`${name} 1: what this line says`)).toBe(true);
    expect(last.includes(`${name} 220: what this line says`)).toBe(true);
  }
  expect(last.includes("are free for it")).toBe(false);
  expect(Math.max(...bodies.map(tokensOf))).toBeLessThan(window);
});
