// A walk through the real OpenClaw, with few starts of its processes: the package installed as users install it, a session with our tools
// in a gateway, `/palimpsest`, memory, and what the store has of it. `npm test` runs this file of those on OpenClaw.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Ledger } from "../../index.js";
import { guidance } from "../../openclaw-plugin/tools.js";
import { createOpenClawSandbox, installPlugin, type OpenClawSandbox, readConfig } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import { serveRegistry } from "../../scripts/lib/registry.js";
import type { RequestBody } from "../../scripts/lib/scripted-model.js";
import { palimpsest, toolNames } from "../e2e/support.ts";
import { packRelease } from "../release.ts";
import {
  call,
  continues,
  fromNow,
  isPaired,
  lines,
  type Puppet,
  rememberGlobally,
  startPuppet,
  textOf,
} from "./support.ts";

const files = {
  "log.sh": "i=0; while [ $i -lt 900 ]; do i=$((i + 1)); echo case number $i; done\n",
  "a.txt": "alpha\n",
};
const runLog = call("exec", { command: "sh log.sh" });
let folder: string;
let model: Puppet;
let sandbox: OpenClawSandbox;
let gateway: Gateway;
/** Of two turns. */
const requests: RequestBody[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "palimpsest-release-"));
  const packed = packRelease(folder);
  const registry = await serveRegistry({ folder });
  model = await startPuppet();
  sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files });
  rememberGlobally(sandbox, "- Tabs: the user wants tabs\n");
  const installed = await installPlugin(sandbox, packed.main, { registry: registry.url, deadlineMs: 200_000 });
  registry.close();
  expect(installed, installed.stdout + installed.stderr).toMatchObject({ code: 0 });
  gateway = await startGateway(sandbox);
  requests.push(...(await turn("run", runLog, call("activate", { name: "t1", lines: "450" }))));
  requests.push(
    ...(await turn("again", call("read", { path: "a.txt" }), call("activate", { name: "t1", lines: "7" }))),
  );
});

afterAll(async () => {
  await gateway?.stop();
  await model?.close();
  await sandbox?.remove();
  rmSync(folder, { recursive: true, force: true });
});

const results = (body: RequestBody) => lines(body).filter((line) => line.startsWith("tool: "));
const said = async (command: string) => (await gateway.chat(command)).text;

/** Plays a turn and resolves to its requests. */
async function turn(message: string, ...steps: Parameters<Puppet["play"]>): Promise<RequestBody[]> {
  const since = fromNow(model);
  model.play(...steps);
  expect(await gateway.agent({ message })).toMatchObject({ status: "ok" });
  return since();
}

test("the installed tarball takes the slot of the context engine", () => {
  const { plugins } = readConfig(sandbox);
  expect(plugins).toMatchObject({ slots: { contextEngine: "palimpsest" }, entries: { palimpsest: { enabled: true } } });
});

test("a long output is shown in part, and can be activated later", () => {
  expect(toolNames(requests[0])).toEqual(expect.arrayContaining(["activate", "deactivate", "pin", "unpin"]));
  const shown = results(requests[5]);
  expect(shown[0]).toMatch(/… \d+ lines between \(t1:/);
  expect(shown[1]).toContain("case number 450");
  expect(shown[2]).toBe("tool: alpha\n");
  expect(shown[3]).toContain("case number 7");
});

test("memory stands in the system prompt", () => {
  expect(textOf(requests[0].messages[0])).toContain("the user wants tabs");
});

test("`/palimpsest` says what there is, and turns it off and on", async () => {
  expect(await said("/palimpsest")).toContain(`store     ${sandbox.store}`);
  expect(await said("/palimpsest objects")).toMatch(/^t1 +in the window +exec /m);
  expect(await said("/palimpsest off")).toContain("is off in this chat");
  const off = await turn("off", runLog);
  expect(results(off[1]).at(-1)).toContain("case number 450\n");
  expect(toolNames(off[0])).not.toContain("activate");
  expect(textOf(off[0].messages[0])).not.toContain(guidance);
  expect(await said("/palimpsest on")).toBe("Palimpsest is on again in this chat.");
  const on = await turn("on");
  expect(toolNames(on[0])).toContain("activate");
  expect(textOf(on[0].messages[0])).toContain(guidance);
  expect(lines(on[0]).join("\n")).not.toContain("/palimpsest");
});

test("every request continues the last, and is stored as sent", () => {
  expect(requests.map(isPaired)).toEqual(requests.map(() => true));
  expect(requests.slice(1).map((body, at) => continues(requests[at], body))).toEqual(Array(5).fill(true));
  const { sessions } = palimpsest<{ sessions: { id: string }[] }>(sandbox, "sessions");
  expect(sessions).toHaveLength(1);
  const ledger = palimpsest<Ledger>(sandbox, "ledger", sessions[0].id);
  expect(ledger).toMatchObject({ calls: 9, failedCalls: 0 });
  // It renders the call again and checks its hash.
  const { messages } = palimpsest<{ messages: object[] }>(sandbox, "context", sessions[0].id, "--call", "3");
  expect(messages).toHaveLength(5);
});

test("what a person activates or pins stands in what follows", async () => {
  const standing = (bodies: RequestBody[], text: string) =>
    bodies.map((body) => lines(body).filter((line) => `${line}\n`.includes(`${text}\n`)).length);
  const look = () => call("read", { path: "a.txt" });
  expect(await said("/compact")).toContain("Palimpsest needs no summary");
  // The host joins what was typed before a turn.
  await said("/palimpsest objects");
  expect(await said("/palimpsest activate t1 801-803")).toContain("goes to the model with the next message");
  const asked = await turn("go on", look(), call("activate", { name: "t1", lines: "700" }));
  expect(standing(asked, "case number 802")).toEqual([1, 1, 1]);
  expect(results(asked[2]).at(-1)).toContain("case number 700");
  await said("/status");
  expect(await said("/palimpsest pin t1")).toMatch(/^Pinned: /);
  const pinned = await turn("and now", look());
  await said("/compact");
  pinned.push(...(await turn("go on")), ...(await turn("and on")));
  expect(standing(pinned, "case number 601")).toEqual([1, 1, 1, 1]);
  expect(continues(pinned[2], pinned[3])).toBe(true);
  expect(await said("/palimpsest objects")).toMatch(/^t1 +pinned +exec /m);
  expect(await said("/palimpsest why t1")).toContain("with the note: [t1] ");
  expect(await said("/palimpsest")).not.toContain("rewrote");
});

test("a new conversation has nothing of the one before", async () => {
  await said("/palimpsest activate turns 1");
  await said("/new");
  for (const body of [...(await turn("hello")), ...(await turn("again"))]) {
    expect(lines(body).join("\n")).not.toMatch(/case number|\bt1\b|\bs1\b/);
  }
});
