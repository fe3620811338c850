import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenClawSandbox, type OpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { palimpsest } from "../e2e/support.ts";
import { call, isPaired, lines, linkPalimpsest, rememberGlobally, startParent, textOf } from "./support.ts";

let model: Awaited<ReturnType<typeof startParent>>;
let sandbox: OpenClawSandbox;
let gateway: Gateway;

beforeAll(async () => {
  model = await startParent();
  const log = Array.from({ length: 900 }, (_, at) => `test case number ${at + 1} ... ok`).join("\n");
  const files = { "log.sh": "cat log.txt\n", "log.txt": `${log}\n` };
  // Else the tool that spawns is behind the tool search.
  sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files, config: { tools: { toolSearch: false } } });
  linkPalimpsest(sandbox);
  rememberGlobally(sandbox, "- Tabs: the user wants tabs\n");
  gateway = await startGateway(sandbox);
});

afterAll(async () => {
  await gateway?.stop();
  await model?.close();
  await sandbox?.remove();
});

/** Has the agent of a session spawn a sub-agent, which does one step; resolves to the sub-agent's requests. */
async function spawned(sessionKey: string, context: string, step: Step): Promise<RequestBody[]> {
  const before = model.requests.length;
  model.steps.own = [
    call("exec", { command: "sh log.sh" }),
    call("sessions_spawn", { task: "look", context }),
    { text: "ok" },
  ];
  model.steps.child = [step, { text: "found" }];
  expect(await gateway.agent({ sessionKey, message: `spawn ${context}` })).toMatchObject({ status: "ok" });
  const isOurs = (body: RequestBody) => textOf(body.messages[0]).includes(`Requester session: ${sessionKey}.`);
  const children = () => model.requests.slice(before).flatMap(({ body }) => (isOurs(body) ? [body] : []));
  await expect.poll(() => children().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(2);
  expect(children().every(isPaired)).toBe(true);
  return children();
}

const look = call("activate", { name: "t1", lines: "5" });

test("an isolated one has the memory but not its parent's chat", async () => {
  const [first, second] = await spawned("agent:main:isolated", "isolated", look);
  expect(lines(first).join("\n")).not.toContain("lines between");
  expect(textOf(first.messages[0])).toContain("the user wants tabs");
  expect(lines(second).at(-1)).toContain("UNKNOWN_NAME");
});

test("a fork knows its parent's handles, and does not change it", async () => {
  const [, second] = await spawned("agent:main:fork", "fork", look);
  expect(lines(second).at(-1)).toContain("test case number 5 ... ok");
  const { sessions } = palimpsest<{ sessions: { parentId: string | null }[] }>(sandbox, "sessions", "--json");
  expect(sessions.filter(({ parentId }) => parentId !== null)).toHaveLength(1);
});

test("one of a group has no global memory", async () => {
  const [first] = await spawned("agent:main:webchat:group:friends", "isolated", look);
  expect(textOf(first.messages[0])).not.toContain("the user wants tabs");
});
