// Turns that nobody typed: those of the heartbeat, in the conversation that they belong to, and those of the scheduler, in their own.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Ledger } from "../../index.js";
import { createOpenClawSandbox, type OpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { RequestBody } from "../../scripts/lib/scripted-model.js";
import { palimpsest } from "../e2e/support.ts";
import {
  call,
  fromNow,
  isPaired,
  lines,
  linkPalimpsest,
  type Puppet,
  rememberGlobally,
  startPuppet,
} from "./support.ts";

let model: Puppet;
let sandbox: OpenClawSandbox;
let gateway: Gateway;

beforeAll(async () => {
  model = await startPuppet();
  const log = Array.from({ length: 900 }, (_, at) => `test case number ${at + 1} ... ok`).join("\n");
  const config = { cron: { enabled: true }, agents: { defaults: { heartbeat: { every: "24h", target: "none" } } } };
  sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files: { "log.txt": `${log}\n` }, config });
  linkPalimpsest(sandbox);
  rememberGlobally(sandbox, "- Tabs: the user wants tabs\n");
  gateway = await startGateway(sandbox);
  model.play(call("exec", { command: "cat -n log.txt" }), { text: "read" });
  await gateway.agent({ message: "look at the log" });
});

afterAll(async () => {
  await gateway?.stop();
  await model?.close();
  await sandbox?.remove();
});

/** The requests until one says this. */
async function until(since: () => RequestBody[], text: string): Promise<RequestBody[]> {
  const says = (body: RequestBody) => JSON.stringify(body.messages).includes(text);
  await expect.poll(() => since().some(says), { timeout: 60_000 }).toBe(true);
  return since().filter(says);
}

test("a heartbeat stays in its conversation, without an epoch", async () => {
  const since = fromNow(model);
  model.play({ text: "HEARTBEAT_OK" });
  await gateway.call("wake", { mode: "now", text: "Look at the calendar." });
  const [beat] = await until(since, "Look at the calendar.");
  expect(lines(beat).join("\n")).toContain("look at the log");
  model.play({ text: "yes" });
  expect(await gateway.agent({ message: "are you there?" })).toMatchObject({ status: "ok" });
  const last = since().at(-1) as RequestBody;
  expect(isPaired(last)).toBe(true);
  expect(lines(last).filter((line) => line.includes("look at the log"))).toHaveLength(1);
  const { epochs } = palimpsest<Ledger>(sandbox, "ledger", "latest");
  expect(epochs).toEqual([]);
});

test("a job of the scheduler has a conversation of its own", async () => {
  const since = fromNow(model);
  model.play(call("activate", { name: "t1", lines: "5" }), { text: "done" });
  const { id } = await gateway.call("cron.add", {
    name: "digest",
    schedule: { kind: "every", everyMs: 86_400_000 },
    sessionTarget: "isolated",
    wakeMode: "now",
    payload: { kind: "agentTurn", message: "Make the digest." },
    delivery: { mode: "none" },
  });
  await gateway.call("cron.run", { id, mode: "force" });
  await expect.poll(() => since().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(2);
  const [first, second] = await until(since, "Make the digest.");
  expect(JSON.stringify(first.messages)).not.toContain("the user wants tabs");
  expect(lines(first).join("\n")).not.toContain("look at the log");
  expect(lines(second).at(-1)).toContain("UNKNOWN_NAME");
});
