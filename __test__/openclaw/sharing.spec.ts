// Several at once on one store: two gateways, a gateway and a turn without one, sessions of one gateway, groups. Nothing of one
// shows in another, and `/new` and `/reset` begin anew.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOpenClawSandbox, type OpenClawSandbox, runLocal } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import {
  type RequestBody,
  type ScriptedModel,
  type Step,
  startScriptedModel,
} from "../../scripts/lib/scripted-model.js";
import { palimpsest } from "../e2e/support.ts";
import { call, continues, conversationOf, isPaired, lines, linkPalimpsest, textOf } from "./support.ts";

/** A gateway with its model, which is told what to do by session key: turns of several sessions come in any order. */
interface Side {
  sandbox: OpenClawSandbox;
  gateway: Gateway;
  model: ScriptedModel;
  play: (sessionKey: string, ...steps: Step[]) => void;
  requests: (sessionKey: string) => RequestBody[];
}

const files = { "log.sh": "i=0; while [ $i -lt 900 ]; do i=$((i + 1)); echo $1 number $i; done\n" };
const log = (word: string) => call("exec", { command: `sh log.sh ${word}` });
const results = (body: RequestBody) => lines(body).filter((line) => line.startsWith("tool: "));
const sides: Side[] = [];
let store: string;
let one: Side;
let two: Side;

/** The session that a request is of, by what OpenClaw says of the run. */
const keyOf = ({ messages }: RequestBody) =>
  /Runtime: agent=\S+ \| session=(\S+)/.exec(JSON.stringify(messages))?.[1] ?? "";

async function side(): Promise<Side> {
  const steps = new Map<string, Step[]>();
  const model = await startScriptedModel(({ body }) => steps.get(keyOf(body))?.shift() ?? { text: "done" });
  const sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files });
  store ??= sandbox.store;
  sandbox.env.PALIMPSEST_STORE = store;
  const memory = join(sandbox.homeDir, ".pi", "agent", "memory");
  mkdirSync(memory, { recursive: true });
  writeFileSync(join(memory, "MEMORY.md"), "- Tabs: the user wants tabs\n");
  linkPalimpsest(sandbox);
  const made = {
    sandbox,
    model,
    gateway: await startGateway(sandbox),
    play: (key: string, ...next: Step[]) => void steps.set(key, next),
    requests: (key: string) => model.requests.map(({ body }) => body).filter((body) => keyOf(body) === key),
  };
  sides.push(made);
  return made;
}

beforeAll(async () => {
  one = await side();
  two = await side();
});

afterAll(async () => {
  for (const { gateway, model, sandbox } of sides.reverse()) {
    await gateway.stop();
    await model.close();
    await sandbox.remove();
  }
});

/** Plays a turn; resolves to its requests. */
async function turn({ gateway, play, requests }: Side, sessionKey: string, message: string, ...steps: Step[]) {
  const count = requests(sessionKey).length;
  play(sessionKey, ...steps);
  const answer = await gateway.agent({ sessionKey, message });
  expect(answer, JSON.stringify(answer)).toMatchObject({ status: "ok" });
  const made = requests(sessionKey).slice(count);
  expect(made.map(isPaired)).toEqual(made.map(() => true));
  return made;
}

const failures = ({ sandbox }: Side) => {
  const file = join(sandbox.stateDir, "palimpsest", "palimpsest.log");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
};

/** What a session shows of a word that is its own and of those that are not. */
function expectOwn(requests: RequestBody[], word: string, others: string[]) {
  const all = JSON.stringify(requests.map(conversationOf));
  expect(all).toContain(`${word} number`);
  for (const other of others) {
    expect(all, `${other} in the session of ${word}`).not.toContain(`${other} number`);
  }
}

test("two gateways and two sessions share a store at once", async () => {
  const key = "agent:main:main";
  const beside = "agent:main:beside";
  const players: [Side, string, string][] = [
    [one, key, "apple"],
    [two, key, "berry"],
    [one, beside, "cherry"],
  ];
  const played = players.map(async ([at, session, word]) => {
    const requests = [];
    for (const [count, message] of ["run", "again", "look"].entries()) {
      const look = call("activate", { name: `t${count + 1}`, lines: "450" });
      requests.push(...(await turn(at, session, `${message} ${word}`, log(word), look, { text: `${word} ${count}` })));
    }
    return requests;
  });
  const words = players.map(([, , word]) => word);
  for (const [at, requests] of (await Promise.all(played)).entries()) {
    expectOwn(requests, words[at], words.toSpliced(at, 1));
    const shown = requests.flatMap(results).filter((line) => /^tool: \[t\d\] exec · line/.test(line));
    expect(new Set(shown.map((line) => line.split("\n")[1]))).toEqual(new Set([`${words[at]} number 450`]));
    expect(requests).toHaveLength(9);
    expect(requests.slice(1).map((body, place) => continues(requests[place], body))).toEqual(Array(8).fill(true));
  }
  const { sessions } = palimpsest<{ sessions: { id: string; turns: number }[] }>(one.sandbox, "sessions");
  expect(sessions).toHaveLength(3);
  expect([failures(one), failures(two)]).toEqual(["", ""]);
});

test("a turn without a gateway beside a gateway on the same store", async () => {
  const key = "agent:main:main";
  await two.gateway.stop();
  two.play(key, log("berry"), call("activate", { name: "t1", lines: "7" }), { text: "local" });
  const count = two.requests(key).length;
  const [local, beside] = await Promise.all([
    runLocal(two.sandbox, { message: "without" }),
    turn(one, key, "beside", log("apple"), call("activate", { name: "t1", lines: "8" }), { text: "beside" }),
  ]);
  expect(local, local.stderr).toMatchObject({ code: 0, answer: { payloads: [{ text: "local" }] } });
  const requests = two.requests(key).slice(count);
  expectOwn(requests, "berry", ["apple", "cherry"]);
  expectOwn(beside, "apple", ["berry", "cherry"]);
  expect(results(requests[2]).at(-1)).toContain("berry number 7");
  expect(results(beside[2]).at(-1)).toContain("apple number 8");
  expect([failures(one), failures(two)]).toEqual(["", ""]);
});

describe("a group", () => {
  const friends = "agent:main:webchat:group:friends";

  test("has no global memory and nothing of another chat", async () => {
    const [{ messages: direct }] = await turn(one, "agent:main:direct", "hi", { text: "hi" });
    expect(textOf(direct[0])).toContain("the user wants tabs");
    const first = await turn(one, friends, "run", log("damson"), { text: "ran" });
    const colleagues = "agent:main:webchat:group:colleagues";
    const look = (name: string) => call("activate", { name });
    const others = await turn(one, colleagues, "look", look("t1"), look("log.sh"), { text: "no" });
    for (const { messages } of [...first, ...others]) {
      expect(textOf(messages[0])).not.toMatch(/the user wants tabs|\.pi\/agent\/memory/);
    }
    expect(results(others[1])[0]).toContain("UNKNOWN_NAME");
    expect(JSON.stringify(others.map(conversationOf))).not.toMatch(/(apple|berry|cherry|damson) number/);
  });

  test("is answered about itself by `/palimpsest`", async () => {
    const { text } = await one.gateway.chat("/palimpsest objects", { sessionKey: friends });
    expect(text.match(/^t\d+ .*$/gm)).toEqual([expect.stringContaining("sh log.sh damson")]);
  });
});

test.each(["/new", "/reset"])("`%s` shows nothing of before, and doubles nothing", async (command) => {
  const key = `agent:main:fresh-${command.slice(1)}`;
  await turn(one, key, "before", log("elder"), { text: "before" });
  await one.gateway.chat(command, { sessionKey: key });
  const after = await turn(one, key, "after", log("fig"), { text: "after" });
  const again = await turn(one, key, "again", { text: "again" });
  for (const body of [...after, ...again]) {
    expect(JSON.stringify(conversationOf(body))).not.toMatch(/elder number|before/);
  }
  expect(results(again[0])).toHaveLength(1);
  expect(results(again[0])[0]).toContain("fig number");
  expect(continues(after[1], again[0])).toBe(true);
  const handle = /\((t\d+):/.exec(results(again[0])[0])?.[1] ?? "";
  const looked = await turn(one, key, "look", call("activate", { name: handle, lines: "5" }), { text: "looked" });
  expect(results(looked[1]).at(-1)).toContain("fig number 5");
});
