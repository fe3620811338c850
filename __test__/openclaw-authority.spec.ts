// Who may do what in OpenClaw, for every command and option that there is: the tables of the parser say which there are, so that none can be
// forgotten. What others must not have stands in another conversation, in files, and in the owner's memory.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openMemory, openSession, openStore, type Session, tools, trustProject } from "../index.js";
import { type Asked, isAllowed } from "../lib/authority.js";
import { memoryParts } from "../lib/memory-command.js";
import { Authority } from "../openclaw-plugin/authority.js";
import { memorySwitches, parts, runCommand } from "../openclaw-plugin/command.js";
import { refuseWrite } from "../openclaw-plugin/middleware.js";
import { Plugin } from "../openclaw-plugin/plugin.js";
import { madeUpHost, onTelegram, operator, withTelegram } from "./openclaw-made-up.ts";

/** In the owner's private chat, in files that nobody else met, and in the owner's memory. */
const secret = "swordfish";
const group = "agent:main:telegram:group:-1001";
const own = "agent:main:telegram:direct:111";
const other = "agent:main:telegram:direct:222";
const owner = 111;
const member = 222;

const folder = mkdtempSync(join(tmpdir(), "palimpsest-test-"));
const workspace = join(folder, "workspace");
const agentDir = join(folder, "agent");
const plugin = new Plugin(join(folder, "state", "palimpsest"), { warn: () => {} });
const before = process.env.PI_CODING_AGENT_DIR;

function write(path: string, text: string): string {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const outside = join(folder, "home", "notes.md");
const names: string[] = [];

let time = 0;
const user = (text: string) => ({ role: "user", content: [{ type: "text", text }], timestamp: ++time });

/** A turn of a session: a file is read, and the model answers. Returns what went to the model, with the section of memory. */
async function turn(sessionId: string, sessionKey: string, path?: string): Promise<string> {
  const current = await plugin.sessions.of({ sessionId, sessionKey, cwd: workspace });
  if (current === undefined) {
    throw new Error(`off: ${plugin.sessions.whyOff(sessionId)}`);
  }
  const list: { role: string }[] = [user("hello")];
  if (path !== undefined) {
    const call = { type: "toolCall", id: `call${++time}`, name: "read", arguments: { path } };
    const text = readFileSync(join(workspace, path), "utf8");
    list.push({ role: "assistant", content: [call], timestamp: ++time } as { role: string });
    const result = { toolCallId: call.id, toolName: "read", isError: false, timestamp: ++time };
    list.push({ role: "toolResult", content: [{ type: "text", text }], ...result } as { role: string });
  }
  const section = await current.memory.section({});
  return `${section}\n${JSON.stringify(await current.session.transformContext(list))}`;
}

/** What somebody types, and hears. */
function typed(who: object, sessionId: string, sessionKey: string, args: string): Promise<string> {
  return runCommand(plugin, { sessionId, sessionKey, args, ...who } as Parameters<typeof runCommand>[1]);
}

/** All that may be typed: each part, each option, and names of things of others. */
function everything(): string[] {
  const given = ["", ...names, "f1@-1", "t1", "f9", "lines", secret, "telegram:direct:111"];
  const lines = [
    "",
    "help",
    "memory",
    "memory help",
    "nothing",
    "MEMORY traces",
    "Off",
    "memory IMPORT claude",
    "memory\ttraces",
  ];
  for (const [name] of parts) {
    lines.push(...given.map((text) => `${name} ${text}`.trim()), `${name.toUpperCase()} f1`);
  }
  const scoped = ["global", "project", "local", "conversation"].map((scope) => `${scope} planted by somebody`);
  for (const [name, part] of [...memoryParts, ...memorySwitches]) {
    const { options } = part as { options?: ReadonlyMap<string, unknown> };
    const all = [...(options ?? new Map()).keys(), "--sessions", "--apply", "--unknown"];
    const spelled = all.flatMap((option) => [option, option.toUpperCase(), `${option}=yes`, option.replace("--", "—")]);
    lines.push(...[...given, ...scoped].map((text) => `memory ${name} ${text}`.trim()));
    lines.push(
      ...spelled.flatMap((option) => [`memory ${name} ${option} ${secret}`, `memory ${name} ${outside} ${option}`]),
    );
  }
  return lines;
}

/** What was typed is not a secret: an answer may say it again. */
const shows = (answer: string, line: string) =>
  answer.replaceAll(line, "").replaceAll(`\`${secret}\``, "").includes(secret);

beforeAll(async () => {
  process.env.PI_CODING_AGENT_DIR = agentDir;
  write(join(workspace, "plan.md"), `the key is ${secret}\n`);
  write(join(workspace, "private.md"), `${secret}, too\n`);
  write(join(workspace, "public.md"), "what everybody knows\n");
  write(outside, `- ${secret} in a file\n`);
  write(join(agentDir, "memory", "MEMORY.md"), `# Memory\n\n- Global: ${secret}\n`);
  write(join(workspace, ".pi", "memory", "MEMORY.md"), `# Memory\n\n- Project: ${secret}\n`);
  write(join(workspace, ".pi", "memory", "MEMORY.local.md"), `# Memory\n\n- Local: ${secret}\n`);
  await trustProject({ agentDir, project: workspace }, true);
  plugin.sessions.configure({ store: join(folder, "store.sqlite"), track: false });
  plugin.authority.configure(...madeUpHost(withTelegram));
  expect(await turn("own", own, "plan.md")).toContain(secret);
  await turn("own", own, "private.md");
  const current = await plugin.sessions.opened("own");
  const index = (await current?.session.sets())?.index ?? [];
  names.push(...index.flatMap(({ id, handle }) => [id, id.slice(0, 12), handle]));
  names.push(
    "plan.md",
    "./plan.md",
    join(workspace, "plan.md"),
    outside,
    "/etc/hostname",
    ".pi/memory/MEMORY.md",
    "session:own",
  );
  await typed(onTelegram(owner, "111"), "own", own, `memory recall ${secret}`);
  // The group met a later version of the file that the owner's session knows.
  write(join(workspace, "plan.md"), "the plan is public now\n");
  await turn("group", group, "plan.md");
  await turn("other", other, "public.md");
});

afterAll(async () => {
  await plugin.sessions.closeAll();
  if (before === undefined) {
    delete process.env.PI_CODING_AGENT_DIR;
  } else {
    process.env.PI_CODING_AGENT_DIR = before;
  }
  rmSync(folder, { recursive: true, force: true });
});

const places = [
  ["a member in a group", onTelegram(member, "group:-1001"), "group", group],
  ["a member in a topic of a group", onTelegram(member, "group:-1001:topic:5"), "topic", `${group}:topic:5`],
  ["the owner in a group", onTelegram(owner, "group:-1001"), "group", group],
  ["the operator in a group's session", operator, "group", group],
  ["a second person in a private chat", onTelegram(member, "222"), "other", other],
  ["a second person in the owner's chat", onTelegram(member, "222"), "own", own],
  ["a stranger in a group", { ...onTelegram(333, "group:-1001"), isAuthorizedSender: false }, "group", group],
  [
    "a stranger in private",
    { ...onTelegram(333, "333"), isAuthorizedSender: false },
    "x",
    "agent:main:telegram:direct:333",
  ],
  ["the owner's number on another channel", { ...onTelegram(owner, "1"), channel: "irc" }, "group", group],
  ["somebody with the owner's name", { ...onTelegram(member, "222"), senderId: "telegram:111 " }, "own", own],
  ["nobody known", { isAuthorizedSender: true }, "own", own],
  ["a client without the right to administer", { ...operator, gatewayClientScopes: ["operator.write"] }, "own", own],
  ["a member of a group that is led into the owner's session", onTelegram(member, "group:-7"), "own", own],
  ["the owner in a group that is led into their session", onTelegram(owner, "group:-7"), "own", own],
] as const;

describe.each(places)("%s", (_, who, sessionId, sessionKey) => {
  test("hears and changes nothing of the owner's, whatever is typed", async () => {
    const found: string[] = [];
    for (const line of everything()) {
      const answer = await typed(who, sessionId, sessionKey, line);
      if (shows(answer, line) || answer.includes(join(folder, "store.sqlite")) || answer.includes(agentDir)) {
        found.push(`${line}: ${answer}`);
      }
    }
    expect(found).toEqual([]);
    expect(await plugin.sessions.choices.of(sessionId)).toEqual({});
    const files = [join(agentDir, "memory"), join(workspace, ".pi", "memory")].flatMap((at) =>
      readdirSync(at, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
    );
    const texts = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    expect(texts.filter((text) => text.includes("planted by somebody"))).toEqual([]);
  });
});

test("the owner in a conversation of their own has everything", async () => {
  for (const who of [onTelegram(owner, "111"), operator]) {
    expect(await typed(who, "own", own, "show f1@-1")).toContain(secret);
    expect(await typed(who, "own", own, "show private.md")).toContain(secret);
    expect(await typed(who, "own", own, `memory recall ${secret}`)).toContain("Global");
    expect(await typed(who, "own", own, "status")).toContain(join(folder, "store.sqlite"));
    expect(await typed(who, "own", own, "memory traces")).not.toContain("owner");
    expect(await typed(who, "own", own, "settings track")).toContain("track");
  }
});

test("members see the figures and objects of their conversation", async () => {
  const said = (line: string) => typed(onTelegram(member, "group:-1001"), "group", group, line);
  expect(await said("status")).toMatch(/^window/m);
  expect(await said("status")).not.toContain("notice");
  expect(await typed(onTelegram(owner, "group:-1001"), "group", group, "status")).toContain("others take part in this");
  expect(await said("objects")).toContain("plan.md");
  expect(await said("show plan.md")).toBe("the plan is public now");
  expect(await said("history plan.md")).toMatch(/^latest[^\n]*$/);
  expect(await said("show plan.md@-1")).toMatch(/met no/);
  expect(await said("off")).toBe("Only the owner can use `/palimpsest off`.");
  expect(await said("memory import claude")).toBe("Only the owner can use `/palimpsest memory import`.");
  expect(await said(`memory recall --sessions ${secret}`)).toMatch(/^`--sessions` works only for the owner/);
  for (const line of ["memory recall deploys — when", "objects -n", "show the - plan.md"]) {
    expect(await said(line)).not.toContain("works only for the owner");
  }
  expect(await said("memory pages --all")).toMatch(/^`--all` works only for the owner/);
  const help = await said("help");
  expect(help).not.toContain("settings");
  expect(await said("memory help")).not.toContain("traces");
});

test("only declared commands and options are open to others", () => {
  const declared = (entries: Iterable<[string, { may?: string; options?: ReadonlyMap<string, { may?: string }> }]>) =>
    [...entries].flatMap(([name, { may, options }]) => [
      ...(may === undefined ? [] : [`${name}: ${may}`]),
      ...[...(options ?? [])]
        .filter(([, option]) => option.may !== undefined)
        .map(([option, { may: to }]) => `${name} ${option}: ${to}`),
    ]);
  expect(declared(parts)).toEqual([
    "status: read",
    "objects: read",
    "show: read",
    "history: read",
    "why: read",
    "activate: change",
    "deactivate: change",
    "pin: change",
    "unpin: change",
    "memory: read",
  ]);
  expect(declared([...memoryParts, ...memorySwitches])).toEqual([
    "pages: read",
    "recall: read",
    "recall --files: read",
    "remember: change",
    "waiting: change",
    "accept: change",
    "withdraw: change",
    "flush: change",
    "confirm: change",
  ]);
  const asked = (conversation: Asked["conversation"], sender: Asked["sender"]) => ({ conversation, sender });
  for (const conversation of ["owner", "person", "group", "mixed"] as const) {
    expect(isAllowed(asked(conversation, "owner"), undefined)).toBe(conversation === "owner");
    expect(isAllowed(asked(conversation, "member"), undefined)).toBe(false);
    expect(isAllowed(asked(conversation, "member"), "change")).toBe(false);
    expect(isAllowed(asked(conversation, "member"), "read")).toBe(
      conversation === "person" || conversation === "group",
    );
    expect(isAllowed(asked(conversation, "stranger"), "read")).toBe(false);
  }
});

test("the request of a group holds nothing of the owner's", async () => {
  for (const [sessionId, sessionKey] of [
    ["group", group],
    ["other", other],
  ]) {
    const request = await turn(sessionId, sessionKey);
    expect(request).toContain("of this conversation alone");
    expect(request).not.toContain(secret);
    const current = await plugin.sessions.opened(sessionId);
    const met = new Set((await current?.session.sets())?.index.map(({ id }) => id));
    const unmet = names.filter(
      (name) => !/^[ft]\d$|plan\.md$/.test(name) && ![...met].some((id) => id.startsWith(name)),
    );
    expect(unmet.length).toBeGreaterThan(5);
    for (const tool of tools()) {
      for (const name of unmet) {
        const answer = current && tool.execute(current.session, "", { name });
        await expect(answer, `${tool.name} ${name}`).rejects.toMatchObject({
          code: expect.stringMatching(/UNKNOWN|NOT_ACT/),
        });
      }
    }
    for (const path of [join(agentDir, "memory", "MEMORY.md"), ".pi/memory/MEMORY.md", ".pi/memory/MEMORY.local.md"]) {
      const event = { toolName: "write", params: { path, content: "- planted" } };
      expect(await refuseWrite(plugin, event, { sessionId, sessionKey }), path).toMatchObject({ block: true });
    }
  }
});

test("a group writes no memory but its own, and no file of ours", async () => {
  symlinkSync(join(workspace, ".pi", "memory"), join(workspace, "mem"), "junction");
  const memoryOf = (key: string) => {
    const name = createHash("sha256").update(key).digest("hex").slice(0, 16);
    return join(agentDir, "palimpsest", "memory", "conversations", name, "MEMORY.md");
  };
  const refused = async (path: string) => {
    const event = { toolName: "write", params: { path, content: "- planted" } };
    return (await refuseWrite(plugin, event, { sessionId: "group", sessionKey: group }))?.blockReason;
  };
  for (const path of [
    "@.pi/memory/MEMORY.md",
    "mem/MEMORY.md",
    "@mem/new.md",
    pathToFileURL(join(agentDir, "memory", "MEMORY.md")).href,
    pathToFileURL(join(workspace, ".pi", "memory", "new.md")).href,
    "/workspace/.pi/memory/MEMORY.md",
    memoryOf(other),
    join(agentDir, "palimpsest.json"),
    join(agentDir, "palimpsest", "trust.json"),
    join(folder, "state", "palimpsest", "openclaw-sessions.json"),
  ]) {
    expect(await refused(path), path).toContain("nothing is written there from a conversation with others");
  }
  expect(await refused(memoryOf(group))).toBeUndefined();
  expect(await refused("notes.md")).toBeUndefined();
  const memory = "*** Update File: .pi/memory/MEMORY.md";
  for (const heading of [
    memory,
    ` \t${memory}`,
    `${memory}\n*** Move to: gone.md`,
    `${memory}\n *** Move to: gone.md`,
  ]) {
    const event = {
      toolName: "apply_patch",
      params: { input: `*** Begin Patch\n${heading}\n@@\n-a\n+b\n*** End Patch` },
    };
    expect(await refuseWrite(plugin, event, { sessionId: "group", sessionKey: group }), heading).toHaveProperty(
      "block",
    );
  }
});

describe("in a sandbox", () => {
  const box = "agent:main:telegram:group:-1009";
  const diary = join(workspace, "diary.md");
  const sandboxed = { ...withTelegram, agents: { defaults: { sandbox: { mode: "non-main" } } } };

  beforeAll(() => plugin.authority.configure(...madeUpHost(sandboxed)));
  afterAll(() => plugin.authority.configure(...madeUpHost(withTelegram)));

  /** What the model, its tool and a member are shown after a call, and after the owner changed the file of that name. */
  async function shownAfter(sessionId: string, name: string, args: object, text: string): Promise<string> {
    write(diary, `guess\n${secret}\n`);
    const current = await plugin.sessions.of({ sessionId, sessionKey: box, cwd: workspace });
    const session = current?.session as Session;
    const call = { type: "toolCall", id: `call${++time}`, name, arguments: args };
    const list = [
      user("hello"),
      { role: "assistant", content: [call], timestamp: ++time },
      {
        role: "toolResult",
        toolCallId: call.id,
        toolName: name,
        isError: false,
        content: [{ type: "text", text }],
        timestamp: ++time,
      },
    ];
    const said: unknown[] = [await session.transformContext(list)];
    write(diary, `guess\n${secret}\nand ${secret} again\n`);
    said.push(await session.transformContext([...list, user("go on")]));
    const activate = tools().find((tool) => tool.name === "activate");
    for (const named of ["f1", "diary.md", diary]) {
      said.push(await activate?.execute(session, "", { name: named }).catch(String));
      said.push(await typed(onTelegram(member, "group:-1009"), sessionId, box, `show ${named}`));
    }
    return JSON.stringify(said);
  }

  test.each([
    ["read", { path: "diary.md" }, "text of the sandbox\n"],
    ["read", { path: diary }, "guess\n"],
    ["write", { path: "diary.md", content: "x\n" }, "Wrote 2 bytes"],
    ["write", { path: pathToFileURL(diary).href, content: "x\n" }, "Wrote 2 bytes"],
    ["edit", { path: diary, edits: [{ oldText: "a", newText: "b" }] }, "Edited"],
    ["exec", { command: "cat diary.md; echo mine > diary.md" }, "mine\n"],
    ["exec", { command: `head -n 1 ${diary}` }, "guess\n"],
    ["exec", { command: `./head -n 1 ${diary}` }, "guess\n"],
    ["exec", { command: `grep -n g ${diary}` }, `${diary}:1:guess\n`],
    ["exec", { command: "mv plan.md diary.md" }, ""],
    ["grep", { pattern: "g", path: workspace }, "diary.md:1:guess\n"],
  ])("`%s` %o shows no file of this machine", async (name, args, text) => {
    const shown = await shownAfter(`box${++time}`, name, args, text);
    expect(shown).not.toContain(secret);
    expect(shown).not.toContain("changed on disk");
  });

  test("what a command printed names no file of this machine", async () => {
    const whole = write(join(folder, "whole.log"), Array.from({ length: 900 }, (_, at) => `line ${at}`).join("\n"));
    const shown = Array.from({ length: 100 }, (_, at) => `line ${at + 800}`).join("\n");
    const notice = `[Showing lines 801-900 of 900. Full output: ${whole}]`;
    const said = await shownAfter("box-notice", "exec", { command: "make" }, `${shown}\n\n${notice}`);
    expect(said).not.toContain(secret);
    expect(await typed(onTelegram(member, "group:-1009"), "box-notice", box, "show t1")).not.toMatch(/^line 7$/m);
  });

  test("the host's word for a run counts, and opens it anew", async () => {
    plugin.authority.configure(...madeUpHost(withTelegram));
    const who = { sessionId: "told", sessionKey: "agent:main:telegram:group:-1010", cwd: workspace };
    const first = await plugin.sessions.of(who);
    expect(first?.isElsewhere).toBe(false);
    expect(await plugin.sessions.of(who)).toBe(first);
    plugin.sessions.conversations.heard({ ...who, sandboxed: true });
    expect((await plugin.sessions.of(who))?.isElsewhere).toBe(true);
    plugin.sessions.conversations.heard({ ...who, sandboxed: false });
    expect((await plugin.sessions.of(who))?.isElsewhere).toBe(false);
  });

  test("where it cannot be known, only the owner's files count", async () => {
    const [api, host] = madeUpHost(withTelegram);
    const broken = () => {
      throw new Error("no such session");
    };
    for (const [config, resolveSandboxRuntimeStatus] of [
      [withTelegram, broken],
      [{ ...withTelegram, tools: { exec: { host: "node" } } }, host.resolveSandboxRuntimeStatus],
      [
        { ...withTelegram, agents: { list: [{ tools: { exec: { host: "node" } } }] } },
        host.resolveSandboxRuntimeStatus,
      ],
    ] as const) {
      plugin.authority.configure({ ...api, config } as typeof api, { ...host, resolveSandboxRuntimeStatus });
      const isElsewhere = async (sessionId: string, sessionKey: string) =>
        (await plugin.sessions.of({ sessionId, sessionKey, cwd: workspace }))?.isElsewhere;
      expect(await isElsewhere("unknown", box)).toBe(true);
      expect(await isElsewhere("own", own)).toBe(false);
    }
  });
});

test("what a group learns stays there until the owner imports it", async () => {
  const inGroup = (line: string) => typed(onTelegram(owner, "group:-1001"), "group", group, line);
  const inPrivate = (line: string) => typed(onTelegram(owner, "111"), "own", own, line);
  expect(await inGroup("memory remember project Deploys: on Friday")).toContain("is not of this conversation");
  expect(await inGroup("memory remember conversation Deploys — on Monday")).toContain("Staged");
  expect(await inGroup(`memory remember conversation Look: at ${outside} and \`${outside}\``)).toContain("Staged");
  await inGroup("memory flush");
  expect(await typed(onTelegram(member, "group:-1001"), "group", group, "memory recall Deploys")).toContain("Monday");
  expect(await turn("group2", group)).toContain("Monday");
  // What an entry of a group cites has no file looked at.
  const current = await plugin.sessions.opened("group2");
  await expect(current?.store.find(outside)).rejects.toMatchObject({ code: "UNKNOWN_NAME" });
  expect(await turn("own2", own)).not.toContain("Monday");
  expect(await turn("other", other)).not.toContain("Monday");
  expect(await inPrivate("memory take")).toContain(group);
  expect(await inPrivate("memory take telegram:group:-1001")).toContain("Monday");
  expect(await inPrivate("memory take telegram:group:-1001 global --apply")).toContain("staged");
  expect(await inPrivate("memory flush")).toContain("Monday");
  const memory = openMemory({ agentDir });
  expect((await memory.pages()).map(({ text }) => text).join("\n")).toContain("Deploys — on Monday");
});

test("the owner turns it off and on for a group in private", async () => {
  const inPrivate = (line: string) => typed(onTelegram(owner, "111"), "own", own, line);
  const inGroup = (line: string) => typed(onTelegram(member, "group:-1001"), "group", group, line);
  expect(await inPrivate("off nowhere")).toContain("No chat is called");
  expect(await inPrivate(`off ${group}`)).toBe(`Palimpsest is off in \`${group}\`, from its next turn on.`);
  plugin.begin("group", group, []);
  await plugin.sessions.close("group");
  expect(await inGroup("status")).toBe("Palimpsest is off in this session.");
  expect(await inGroup("on")).toBe("Only the owner can use `/palimpsest on`.");
  expect(await inPrivate("on telegram:group:-1001")).toContain("is on in");
  expect(await inGroup("status")).toMatch(/^window/m);
});

test("a fork of the owner's session for a group starts empty", async () => {
  plugin.sessions.willFork(["forked"], "own");
  const request = await turn("forked", group);
  expect(request).not.toContain(secret);
  const current = await plugin.sessions.opened("forked");
  expect((await current?.session.sets())?.index).toEqual([]);
});

test("another writer makes the owner's session a shared one", async () => {
  const key = "agent:main:desk";
  expect(await turn("desk", key)).toContain(secret);
  plugin.sessions.conversations.heard({
    sessionId: "desk",
    sessionKey: key,
    messageChannel: "telegram",
    requesterSenderId: "222",
    senderIsOwner: false,
  });
  expect(await turn("desk", key)).not.toContain(secret);
  await expect
    .poll(() => plugin.sessions.choices.of(key))
    .toMatchObject({ strangers: [expect.stringContaining("222")] });
  expect(await typed(operator, "desk", key, "memory traces")).toContain("others take part in this");
  // So are its sub-agents, and what comes after a reset, in a later process, too.
  plugin.sessions.conversations.willSpawn("agent:main:subagent:1", key);
  expect(await turn("child", "agent:main:subagent:1")).not.toContain(secret);
  expect(await turn("desk-after-reset", key)).not.toContain(secret);
  const later = new Plugin(join(folder, "state", "palimpsest"), { warn: () => {} });
  later.authority.configure(...madeUpHost(withTelegram));
  expect((await later.sessions.conversations.whose("desk-after-reset", key)).conversation).toBe("mixed");
  // As earlier builds kept them.
  await plugin.sessions.choices.take("by-id", await plugin.sessions.choices.of(key));
  expect((await plugin.sessions.conversations.whose("by-id", "agent:main:by-id")).conversation).toBe("mixed");
  const both = { ...withTelegram, commands: { ownerAllowFrom: ["telegram:111", "telegram:222"] } };
  plugin.authority.configure(...madeUpHost(both));
  expect(await turn("desk", key)).toContain(secret);
  plugin.authority.configure(...madeUpHost(withTelegram));
});

test("a run for nobody is the owner's only where an owner wrote", async () => {
  const run = (sessionId: string, sessionKey: string, senderIsOwner: boolean) => {
    plugin.sessions.conversations.heard({ sessionId, sessionKey, messageChannel: "webchat", senderIsOwner });
    return turn(sessionId, sessionKey);
  };
  // An operator without `operator.admin` opens a session by the method `agent`.
  const colleagues = "agent:main:dashboard:7";
  expect(await run("colleagues", colleagues, false)).not.toContain(secret);
  plugin.sessions.conversations.willSpawn("agent:main:subagent:7", colleagues);
  expect(await run("colleagues-child", "agent:main:subagent:7", false)).not.toContain(secret);
  expect(await plugin.sessions.choices.of(colleagues)).toEqual({});
  // The report of a sub-agent comes in the same way.
  const owners = "agent:main:dashboard:8";
  expect(await run("owners", owners, true)).toContain(secret);
  expect(await run("owners", owners, false)).toContain(secret);
});

describe("whose a conversation is", () => {
  const whose = (key: string | undefined, config = withTelegram, paired?: string[]) => {
    const authority = new Authority();
    authority.configure(...madeUpHost(config, paired));
    return authority.conversationOf(key);
  };

  test.each([
    ["agent:main:main", "owner"],
    ["agent:main:fresh", "owner"],
    ["agent:main:direct", "owner"],
    ["agent:main:dashboard:1", "owner"],
    ["agent:main:telegram:direct:111", "owner"],
    ["agent:main:telegram:direct:111:thread:5", "owner"],
    ["agent:main:telegram:bot2:direct:111", "owner"],
    ["agent:main:direct:111", "owner"],
    ["agent:main:telegram:direct:222", "person"],
    ["agent:main:irc:direct:111", "person"],
    ["agent:main:direct:222", "person"],
    ["agent:main:telegram:dm:222", "person"],
    ["agent:main:telegram:group:-100", "group"],
    ["AGENT:MAIN:TELEGRAM:GROUP:-100", "group"],
    ["agent:main:slack:channel:c1:thread:5", "group"],
    ["agent:main:whatsapp:1234@g.us", "group"],
    ["agent:main:cron:job:run:1", "mixed"],
    ["agent:main:hook:gmail:1", "mixed"],
    ["agent:main:subagent:1", "mixed"],
    ["agent:main:voice:5551234", "mixed"],
    ["agent:main:global", "mixed"],
    ["global", "mixed"],
    ["", "mixed"],
    [undefined, "mixed"],
  ])("by its key: %s", async (key, expected) => {
    expect(await whose(key)).toBe(expected);
  });

  test("the main session is the owner's while nobody else can write", async () => {
    const main = "agent:main:main";
    const shared = { ...withTelegram, session: {} };
    const telegram = (settings: object) => ({ ...shared, channels: { telegram: settings } });
    const alone = { dmPolicy: "allowlist", allowFrom: ["111"] };
    expect(await whose(main, shared)).toBe("mixed");
    expect(await whose(main, telegram(alone))).toBe("owner");
    expect(await whose(main, { ...telegram(alone), commands: {} })).toBe("mixed");
    expect(await whose(main, telegram({ ...alone, dmPolicy: "open" }))).toBe("mixed");
    expect(await whose(main, telegram({ ...alone, allowFrom: ["*"] }))).toBe("mixed");
    expect(await whose(main, telegram({ enabled: false, dmPolicy: "open" }))).toBe("owner");
    expect(await whose(main, telegram({ dmPolicy: "disabled" }))).toBe("owner");
    expect(await whose(main, telegram({ accounts: { a: alone, b: { dmPolicy: "open" } } }))).toBe("mixed");
    // Whom the owner let in by pairing is in no configuration.
    expect(await whose(main, telegram({}), ["111"])).toBe("owner");
    expect(await whose(main, telegram({}), ["111", "222"])).toBe("mixed");
    expect(await whose(main, telegram({}))).toBe("mixed");
    const led = { ...telegram(alone), session: { groupScope: "main" } };
    expect(await whose(main, led)).toBe("mixed");
    const bound = { ...withTelegram, bindings: [{ session: { groupScope: "main" } }] };
    expect(await whose(main, bound)).toBe("mixed");
    expect(await whose("agent:main:home", { ...shared, session: { mainKey: "home" } })).toBe("mixed");
  });

  test("a linked name is the owner's where nobody else has it", async () => {
    const linked = (ids: string[], others: object = {}) => ({
      ...withTelegram,
      channels: { ...(withTelegram.channels as object), ...others },
      session: { ...(withTelegram.session as object), identityLinks: { Olga: ids } },
    });
    const on = (channel: string) => `agent:main:${channel}:direct:olga`;
    const [any, irc] = ["agent:main:direct:olga", { irc: { dmPolicy: "open" } }];
    expect(await whose(on("telegram"), linked(["telegram:111"]))).toBe("owner");
    expect(await whose(any, linked(["telegram:111"]))).toBe("owner");
    // Another channel's link leads into a session of its own, or into that of all channels.
    expect(await whose(on("telegram"), linked(["telegram:111", "discord:9"]))).toBe("owner");
    expect(await whose(on("discord"), linked(["telegram:111", "discord:9"]))).toBe("person");
    expect(await whose(any, linked(["telegram:111", "discord:9"]))).toBe("person");
    expect(await whose(on("telegram"), linked(["telegram:111", "telegram:222"]))).toBe("person");
    // Somebody may be called so there.
    expect(await whose(on("irc"), linked(["telegram:111"], irc))).toBe("person");
    expect(await whose(any, linked(["telegram:111"], irc))).toBe("person");
    const nick = { ...linked(["irc:olga_"], irc), commands: { ownerAllowFrom: ["irc:olga_"] } };
    expect(await whose(on("irc"), nick)).toBe("person");
    expect(await whose(on("irc"), { ...nick, commands: { ownerAllowFrom: ["irc:olga_", "irc:olga"] } })).toBe("owner");
    expect(await whose(on("telegram"))).toBe("person");
  });

  test("an owner without a channel counts if there is one channel", async () => {
    const config = { ...withTelegram, commands: { ownerAllowFrom: ["111"] } };
    expect(await whose(own, config)).toBe("owner");
    const two = { ...config, channels: { ...(withTelegram.channels as object), irc: { allowFrom: ["x"] } } };
    expect(await whose(own, two)).toBe("person");
  });
});

test("a session of others stays confined, whoever opens it", async () => {
  await plugin.sessions.closeAll();
  const store = await openStore({ path: join(folder, "store.sqlite") });
  const session = await openSession(store, { harness: "openclaw", sessionId: "group", cwd: workspace });
  await expect(session.continueFrom("session:own")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await session.close();
  await store.close();
});
