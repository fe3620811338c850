// What nobody plans: a store that may not be written, commands before the first message and in odd spellings, a sub-agent that somebody
// talks to, sessions that are deleted under the running gateway. One gateway for all; the tests go on from each other.
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { createOpenClawSandbox, type OpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { asOtherUser, missingOtherUser, toolNames } from "../e2e/support.ts";
import { call, fromNow, isPaired, isReport, lines, linkPalimpsest, startParent } from "./support.ts";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const files = {
  "log.sh": "i=0; while [ $i -lt 900 ]; do i=$((i + 1)); echo $1 number $i; done\n",
  "a.txt": "alpha\nbeta\ngamma\n",
};
const log = (word: string) => call("exec", { command: `sh log.sh ${word}` });
const look = (name: string, lines: string) => call("activate", { name, lines });
const keyOf = (name: string) => `agent:main:${name}`;
let model: Awaited<ReturnType<typeof startParent>>;
let sandbox: OpenClawSandbox;
let gateway: Gateway;

beforeAll(async () => {
  model = await startParent();
  // Else the tool that spawns is behind the tool search.
  const config = { tools: { toolSearch: false } };
  sandbox = await createOpenClawSandbox({
    baseUrl: model.baseUrl,
    files,
    config,
    model: { input: ["text", "image"] },
  });
  linkPalimpsest(sandbox);
  await openStore({ path: sandbox.store }).then((store) => store.close());
  const launcher = asOtherUser(sandbox.dir);
  letWrite(false);
  gateway = await startGateway(sandbox, { launcher });
});

afterAll(async () => {
  await gateway?.stop();
  await model?.close();
  await sandbox?.remove();
});

/** Lets the gateway write the store, or not. */
function letWrite(may: boolean): void {
  for (const path of ["", "-wal", "-shm"].map((end) => `${sandbox.store}${end}`).filter(existsSync)) {
    chmodSync(path, may ? 0o600 : 0o400);
  }
}

/** Plays a turn, which always succeeds; resolves to its requests. */
async function turn(name: string, message: string, ...next: Step[]): Promise<RequestBody[]> {
  const since = fromNow(model);
  model.steps.own = next;
  expect(await gateway.agent({ sessionKey: keyOf(name), message })).toMatchObject({ status: "ok" });
  const requests = since();
  expect(requests.map(isPaired)).toEqual(requests.map(() => true));
  return requests;
}

const said = async (name: string, typed: string) => (await gateway.chat(typed, { sessionKey: keyOf(name) })).text;
const results = (body: RequestBody) => lines(body).filter((line) => line.startsWith("tool: "));
const countOf = (body: RequestBody, text: string) => lines(body).join("\n").split(text).length - 1;
const told = () => `${gateway.outcome.stdout}\n${gateway.outcome.stderr}`.match(/Palimpsest: .*/g) ?? [];

test.skipIf(missingOtherUser())("a store that may not be written at the start", async () => {
  const [, whole] = await turn("start", "one", log("apple"), { text: "one" });
  expect(results(whole)).toEqual([expect.stringContaining("apple number 450\n")]);
  await turn("start", "two", { text: "two" });
  expect(told()).toEqual([expect.stringContaining("READ_ONLY")]);
  expect(await said("start", "/palimpsest")).toMatch(/^Palimpsest is off in this session: .*READ_ONLY/);
  letWrite(true);
  const [, , looked] = await turn("start", "three", log("berry"), look("t1", "7"), { text: "three" });
  expect(results(looked).slice(1)).toEqual([
    expect.stringMatching(/… \d+ lines between \(t2:/),
    expect.stringContaining("apple number 7"),
  ]);
  expect(told()).toHaveLength(1);
});

test("a store that may not be written later loses nothing", async () => {
  await turn("later", "one", log("cherry"), call("read", { path: "a.txt" }), { text: "one" });
  letWrite(false);
  const [, looked] = await turn("later", "two", look("t1", "8"), log("damson"), { text: "two" });
  expect(results(looked).at(-1)).toContain("cherry number 8");
  await turn("new", "one", log("elder"), { text: "one" });
  letWrite(true);
  const [, after] = await turn("later", "three", look("t3", "9"), { text: "three" });
  expect(results(after).at(-1)).toContain("damson number 9");
  expect(await said("later", "/palimpsest objects")).toMatch(/cherry[\s\S]*damson/);
});

test("what is asked for first comes once, with the first message", async () => {
  expect(await said("first", "/palimpsest")).toMatch(/^Palimpsest is on\. No call to the model yet\./);
  expect(await said("first", "/palimpsest objects")).toBe("No file and no output yet.");
  for (const name of ["a.txt", "a.txt"]) {
    expect(await said("first", `/palimpsest activate ${name} 2-3`)).toContain(
      "goes to the model with the next message",
    );
  }
  expect(await said("first", "/palimpsest activate t1")).toContain("UNKNOWN_NAME");
  const first = [...(await turn("first", "hello")), ...(await turn("first", "again"))];
  expect(first.map((body) => countOf(body, "beta\ngamma"))).toEqual([1, 1]);
  expect(await said("pinned", "/palimpsest pin a.txt")).toMatch(/^Pinned: /);
  expect((await turn("pinned", "hello")).map((body) => countOf(body, "beta\ngamma"))).toEqual([1]);
});

test("off stays off in a new conversation, and on begins with it", async () => {
  await turn("off", "one", log("fig"), { text: "one" });
  await said("off", "/palimpsest off");
  await said("off", "/new");
  expect(await said("off", "/palimpsest")).toContain("you turned it off here");
  const [without] = await turn("off", "hello", log("grape"), { text: "two" });
  expect(toolNames(without)).not.toContain("activate");
  await said("off", "/palimpsest on");
  const [again, , looked] = await turn("off", "again", log("hazel"), look("t2", "5"), { text: "three" });
  expect(toolNames(again)).toContain("activate");
  expect(lines(looked).join("\n")).not.toMatch(/fig|\/palimpsest/);
  expect(results(looked).slice(1)).toEqual([
    expect.stringMatching(/… \d+ lines between \(t3:/),
    expect.stringContaining("grape number 5"),
  ]);
});

test("our command is known in any spelling, and never sent", async () => {
  await turn("typed", "one", log("ivy"), { text: "one" });
  const since = fromNow(model);
  const blanks = ["\t", "\n", "\u00a0", "\u3000", "   ", ": "];
  const typed = [
    "/PALIMPSEST objects",
    "  /Palimpsest  OBJECTS  ",
    "/ palimpsest objects",
    "/palimpsest objects\u200b",
    "\ufeff/palimpsest objects",
    ...blanks.map((blank) => `/palimpsest${blank}objects`),
  ];
  for (const text of typed) {
    expect(await said("typed", text), JSON.stringify(text)).toMatch(/^t1 +in the window|\nt1 +in the window/);
  }
  expect(since()).toEqual([]);
  await said("typed", "/palimpsest@another objects");
  const [next] = [...(await turn("typed", "two")), ...(await turn("typed", "three"))].slice(-1);
  expect(countOf(next, "palimpsest")).toBe(1);
  const roles = lines(next).map((line) => line.split(":")[0]);
  expect(roles.slice(roles.indexOf("tool") + 1)).toEqual([
    ...["assistant", "user", "assistant", "user", "assistant", "user"],
  ]);
});

test("a sub-agent that somebody talks to has a session of its own", async () => {
  model.steps.child = [log("kiwi"), { text: "found" }];
  const spawn = call("sessions_spawn", { task: "look", context: "isolated" });
  const since = fromNow(model);
  await turn("parent", "go", log("lemon"), spawn, { text: "ok" });
  // Else a message would come into the middle of its turn.
  await expect.poll(() => since().some(isReport), { timeout: 60_000 }).toBe(true);
  const child = async () => {
    const { sessions } = await gateway.call("sessions.list", {});
    return sessions.find(({ key }: { key: string }) => key.includes(":subagent:"))?.key.replace("agent:main:", "");
  };
  await expect.poll(child, { timeout: 60_000 }).toBeDefined();
  const name = await child();
  await expect.poll(() => said(name, "/palimpsest objects"), { timeout: 60_000 }).toMatch(/t1 .*kiwi/);
  const [, asked] = await turn(name, "and the sixth?", look("t1", "6"), { text: "more" });
  expect(results(asked).at(-1)).toContain("kiwi number 6");
  expect(await said("parent", "/palimpsest objects")).not.toContain("kiwi");
  expect(await said(name, "/palimpsest objects")).not.toContain("lemon");
});

test("an image that a person sent stands in the turns after it", async () => {
  const attachments = [{ type: "image", mimeType: "image/png", fileName: "p.png", content: png }];
  const images = (body: RequestBody) => JSON.stringify(body.messages).split("data:image/png").length - 1;
  await gateway.chat("what is it?", { sessionKey: keyOf("seen"), params: { attachments } });
  const later = [...(await turn("seen", "two", log("nashi"), { text: "two" })), ...(await turn("seen", "three"))];
  expect(later.map(images)).toEqual([1, 1, 1]);
});

test("tries, aborts and words in between begin no epoch", async () => {
  const sessionKey = keyOf("disturbed");
  const inWorkspace = (name: string) => join(sandbox.workspaceDir, name);
  const begun = (name: string) => expect.poll(() => existsSync(inWorkspace(name)), { timeout: 60_000 }).toBe(true);
  await turn("disturbed", "one", log("olive"), { status: 500 }, { text: "one" });
  model.steps.own = [call("exec", { command: "touch hangs; sleep 100" })];
  const hangs = gateway.chat("hang", { sessionKey });
  await begun("hangs");
  await gateway.call("chat.abort", { sessionKey });
  await hangs;
  await turn("disturbed", "two");
  model.steps.own = [call("exec", { command: "touch runs; until test -e go; do sleep 0.1; done" }), { text: "three" }];
  const runs = gateway.chat("three", { sessionKey });
  await begun("runs");
  const meanwhile = gateway.chat("mind the gap", { sessionKey });
  const kept = async () => JSON.stringify(await gateway.call("chat.history", { sessionKey }));
  await expect.poll(kept, { timeout: 60_000 }).toContain("mind the gap");
  // It waits for more words before it reaches the turn.
  await setTimeout(2_000);
  writeFileSync(inWorkspace("go"), "");
  await Promise.all([runs, meanwhile]);
  const [four] = await turn("disturbed", "four");
  expect(
    lines(four)
      .slice(-4)
      .map((line) => line.replace(/\[.*?\] /, "")),
  ).toEqual([expect.stringMatching(/^tool: /), "user: mind the gap", "assistant: three", "user: four"]);
  expect(await said("disturbed", "/palimpsest")).toContain("epochs    none: ");
  expect((await said("disturbed", "/palimpsest objects")).match(/sleep 100/g)).toHaveLength(1);
});

test("a session deleted under the gateway begins anew", async () => {
  await turn("gone", "one", log("mango"), { text: "one" });
  await gateway.call("sessions.delete", { key: keyOf("gone") });
  const [, looked] = await turn("gone", "two", look("t1", "5"), { text: "two" });
  expect(results(looked)).toEqual([expect.stringContaining("UNKNOWN_NAME")]);
  // Without its database OpenClaw starts no turn at all, also without us.
  for (const end of ["", "-wal", "-shm"]) {
    rmSync(join(sandbox.stateDir, "agents", "main", "agent", `openclaw-agent.sqlite${end}`), { force: true });
  }
  const known = told().length;
  expect(await gateway.agent({ sessionKey: keyOf("gone"), message: "three" })).toMatchObject({ status: "error" });
  expect(await said("gone", "/palimpsest")).toMatch(/^window /);
  expect(told()).toHaveLength(known);
});
