// Who may do what in a running gateway, with its own Telegram channel: the owner (111), a member of the group whom the owner also lets write in
// private (222), and a stranger (333). What the model gets is looked at, and what the chats get. All that may be typed is in
// `__test__/openclaw-authority.spec.ts`; here the host says who writes, and where.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { trustProject } from "../../index.js";
import { createOpenClawSandbox, type OpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { startTelegram, type Telegram } from "../../scripts/lib/telegram.js";
import { call, fromNow, linkPalimpsest, type Puppet, rememberGlobally, startPuppet, textOf } from "./support.ts";

const secret = "swordfish";
const [owner, member, stranger, group] = [111, 222, 333, -1001];
let model: Puppet;
let telegram: Telegram;
let sandbox: OpenClawSandbox;
let gateway: Gateway;
let outside: string;

beforeAll(async () => {
  model = await startPuppet();
  telegram = await startTelegram();
  const people = [String(owner), String(member)];
  const channel = { dmPolicy: "allowlist", allowFrom: people, groupPolicy: "allowlist", groupAllowFrom: people };
  const groups = { [String(group)]: { requireMention: false } };
  sandbox = await createOpenClawSandbox({
    baseUrl: model.baseUrl,
    files: {
      "plan.md": `the key is ${secret}\n`,
      ".pi/memory/MEMORY.md": `# Memory\n\n- Project: ${secret}\n`,
      ".pi/memory/MEMORY.local.md": `# Memory\n\n- Local: ${secret}\n`,
    },
    config: {
      channels: { telegram: { ...telegram.account, ...channel, groups } },
      commands: { ownerAllowFrom: [`telegram:${owner}`] },
      session: { dmScope: "per-channel-peer" },
      messages: { groupChat: { visibleReplies: "automatic" } },
    },
  });
  linkPalimpsest(sandbox);
  rememberGlobally(sandbox, `- Global: ${secret}\n`);
  await trustProject({ agentDir: join(sandbox.homeDir, ".pi", "agent"), project: sandbox.workspaceDir }, true);
  outside = join(sandbox.homeDir, "notes.md");
  writeFileSync(outside, `- ${secret} in a file\n`);
  gateway = await startGateway(sandbox, { env: { OPENCLAW_SKIP_CHANNELS: "" } });
});

afterAll(async () => {
  await gateway?.stop();
  await telegram?.close();
  await model?.close();
  await sandbox?.remove();
});

/** Somebody says something to the agent; resolves to the requests of the turn. */
async function turn(from: number, chat: number, ...steps: Step[]): Promise<RequestBody[]> {
  const [since, before] = [fromNow(model), telegram.sent.length];
  const last = `said ${telegram.sent.length} and ${model.requests.length}`;
  model.play(...steps, { text: last });
  telegram.write(from, "hello", chat);
  await telegram.heard(chat, (text) => text.includes(last), before);
  return since();
}

/** Somebody types a command; resolves to the first answer. No request goes out. */
async function typed(from: number, chat: number, line: string): Promise<string> {
  const [since, before] = [fromNow(model), telegram.sent.length];
  telegram.write(from, `/palimpsest ${line}`, chat);
  const answer = await telegram.heard(chat, (text) => text !== "", before);
  expect(since()).toEqual([]);
  return answer;
}

/** All that went to the model. */
const all = (requests: RequestBody[]) => JSON.stringify(requests.map(({ messages }) => messages.map(textOf)));

describe("in a running gateway", () => {
  test("the owner has everything in their own chat", async () => {
    const requests = await turn(owner, owner, call("read", { path: "plan.md" }));
    const [prompt] = requests[0].messages;
    for (const scope of ["Global", "Project", "Local"]) {
      expect(textOf(prompt)).toContain(`${scope}: ${secret}`);
    }
    expect(await typed(owner, owner, "status")).toContain(sandbox.store);
    expect(await typed(owner, owner, `memory recall ${secret}`)).toContain("Global");
    expect(await typed(owner, owner, "show plan.md")).toContain(secret);
    expect(await typed(owner, owner, "memory traces")).not.toContain("owner");
  });

  test.each([
    ["a group", member, group],
    ["a private chat with a second person", member, member],
    ["a group in which the owner writes", owner, group],
  ])("%s hears nothing private", async (_, from, chat) => {
    const own = await turn(from, chat, call("activate", { name: "plan.md" }), call("activate", { name: outside }));
    expect(all(own)).not.toContain(secret);
    expect(all(own)).toContain("UNKNOWN_NAME");
    const lines = [
      "status",
      "objects",
      "show plan.md",
      `show ${outside}`,
      "history f1",
      "activate plan.md",
      "open",
      "settings",
      "off",
      "memory",
      "memory pages",
      "memory traces",
      "memory recall --sessions hello",
      `memory recall ${secret.slice(0, 5)}`,
      `memory import ${outside}`,
      "memory import /etc/hostname",
      "memory take",
      "continue latest",
      "memory remember project planted by somebody",
      "memory remember global planted by somebody",
      "nothing",
    ];
    const answers = [];
    for (const line of lines) {
      answers.push(`${line}: ${await typed(from, chat, line)}`);
    }
    const found = answers.filter((answer) => answer.includes(secret) || answer.includes(sandbox.store));
    expect(found).toEqual([]);
    // The store is on for all still, and nothing was planted.
    expect(all(await turn(from, chat))).not.toContain(secret);
    const memory = readFileSync(join(sandbox.workspaceDir, ".pi", "memory", "MEMORY.md"), "utf8");
    expect(memory).not.toContain("planted");
  });

  test("a group sees its figures, and the owner cannot stop that", async () => {
    expect(await typed(member, group, "status")).toMatch(/^window/m);
    expect(await typed(member, group, "off")).toContain("Only the owner can use");
    expect(await typed(owner, group, "off")).toContain("others take part in this");
    expect(await typed(member, group, "status")).toMatch(/^window/m);
  });

  test("a stranger hears nothing, in the group and in private", async () => {
    // The host says so itself.
    expect(await typed(stranger, group, "status")).toContain("not authorized");
    const since = fromNow(model);
    telegram.write(stranger, "/palimpsest status");
    // What the owner types after it is answered.
    expect(await typed(owner, owner, "status")).toContain("window");
    expect(telegram.sent.filter(({ chat, text }) => chat === stranger && text.includes("window"))).toEqual([]);
    expect(since()).toEqual([]);
  });

  test("what a group learns stays the group's until it is imported", async () => {
    expect(await typed(owner, group, "memory remember conversation Deploys: on Monday")).toContain("Staged");
    expect(await typed(owner, group, "memory flush")).toContain("Monday");
    expect(all(await turn(member, member))).not.toContain("Monday");
    expect(await typed(owner, owner, "memory take telegram:group:-1001")).toContain("Monday");
    expect(await typed(owner, owner, "memory take telegram:group:-1001 global --apply")).toContain("staged");
    await typed(owner, owner, "memory flush");
    const memory = join(sandbox.homeDir, ".pi", "agent", "memory", "MEMORY.md");
    expect(readFileSync(memory, "utf8")).toContain("Deploys: on Monday");
  });
});
