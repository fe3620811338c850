// The parts of the OpenClaw plugin that need no OpenClaw. What it does in one is tested in `openclaw/`.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSession, openStore, type Session, settingValues } from "../index.js";
import { programFile } from "../lib/program.js";
import { Authority } from "../openclaw-plugin/authority.js";
import { runCommand } from "../openclaw-plugin/command.js";
import { Engine } from "../openclaw-plugin/engine.js";
import { Failures } from "../openclaw-plugin/failures.js";
import { Heard } from "../openclaw-plugin/heard.js";
import type { HostFunctions, HostMessage } from "../openclaw-plugin/host.d.ts";
import { showResult } from "../openclaw-plugin/middleware.js";
import { modelOf, Rates, Room } from "../openclaw-plugin/model.js";
import { Plugin } from "../openclaw-plugin/plugin.js";
import { Sessions } from "../openclaw-plugin/sessions.js";
import { asSent, Calls, toHost, toSession, withImages } from "../openclaw-plugin/turn.js";
import { manifest } from "../scripts/lib/openclaw-manifest.js";
import { root } from "../scripts/setup.js";
import { temporaryFolder } from "./e2e/support.ts";
import { madeUpHost, operator } from "./openclaw-made-up.ts";

const read = (name: string) => readFileSync(join(root, name), "utf8");

describe("the manifest", () => {
  const written = JSON.parse(read("openclaw.plugin.json"));

  test("has the settings of docs/settings.md", () => {
    expect(written).toEqual(JSON.parse(manifest(read("docs/settings.md"))));
  });

  test("has every setting with its default, and no other", async () => {
    const known = (await settingValues({})).filter(({ source }) => source === "default");
    const defaults = known.map(({ key, value }) => [key, value]);
    const properties = Object.entries(written.configSchema.properties as Record<string, { default: unknown }>);
    expect(properties.map(([key, property]) => [key, property.default])).toEqual(defaults);
    expect(Object.keys(written.uiHints)).toEqual(defaults.map(([key]) => key));
  });

  test("lets OpenClaw start with any value and any key", () => {
    const { additionalProperties = true, properties } = written.configSchema;
    expect(additionalProperties).toBe(true);
    const kinds = ["array", "boolean", "null", "number", "object", "string"];
    for (const { anyOf } of Object.values(properties as Record<string, { anyOf: Record<string, unknown>[] }>)) {
      const unbounded = anyOf.filter((one) => Object.keys(one).length === 1).map(({ type }) => type);
      expect([...new Set(unbounded.flat())].sort()).toEqual(kinds);
    }
  });
});

const user = (text: unknown, timestamp: number) => ({ role: "user", content: text, timestamp });
const called = (id: string, timestamp: number, more: object = {}) => ({
  role: "assistant",
  content: [{ type: "toolCall", id, name: "read", arguments: { path: "a" } }],
  timestamp,
  ...more,
});
const result = (toolCallId: string, timestamp: number, more: object = {}) => ({
  role: "toolResult",
  toolCallId,
  toolName: "read",
  content: [{ type: "text", text: "alpha" }],
  isError: false,
  timestamp,
  ...more,
});

describe("a list of OpenClaw", () => {
  // As its hook shows the running turn, and as the next turn's history has it.
  const live = [
    user("one", 1),
    called("call_1", 2, { usage: { input: 1 }, api: "x" }),
    result("call_1", 3, { details: {} }),
    called("call_1", 4),
    result("call_1", 5),
  ];
  const later = [
    { ...user("one", 1), idempotencyKey: "k", __openclaw: { runId: "r" } },
    called("call1", 2, { __openclaw: {} }),
    result("call1", 3),
    called("call174196fe7", 4),
    result("call174196fe7", 5),
  ];
  const json = (list: object[]) =>
    toSession(list as typeof live, new Calls()).map((message) => JSON.stringify(message));

  test("is the same in its turn and later, whatever the call IDs", () => {
    expect(json(later)).toEqual(json(live));
    expect(new Set(json(live))).toHaveLength(live.length);
  });

  test("is the same at every turn after a call was broken off", () => {
    const missing =
      "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.";
    for (const text of [missing, "aborted"]) {
      const made = { content: [{ type: "text", text }], isError: true };
      const [one, two] = [7, 9].map((time) => [called("call_1", 2), result("call_1", time, made), user("go on", 6)]);
      expect(json(two)).toEqual(json(one));
    }
  });

  test("converts back to the same objects with the host's IDs", () => {
    const calls = new Calls();
    const given = toSession(later, calls);
    expect(toHost(given, given, calls)).toEqual(later);
    expect(toHost(given, given, calls).every((message, at) => message === later[at])).toBe(true);
    const changed = given.map((message) => ({ ...message, content: message.content }));
    expect(toHost(changed, given, calls)).toEqual(later);
    const ours = { role: "custom", content: "[note]" };
    expect(toHost([ours], given, calls)).toEqual([
      { role: "custom", customType: "palimpsest", display: false, content: "[note]", timestamp: 1 },
    ]);
    expect(toSession(toHost([ours], given, calls), calls)).toEqual([]);
  });

  test("keeps messages of other kinds as they are", () => {
    const summary = { role: "compactionSummary", summary: "what was", timestamp: 9, __openclaw: {} };
    const calls = new Calls();
    const given = toSession([summary], calls);
    expect(JSON.stringify(given[0])).toBe('{"role":"compactionSummary","summary":"what was","timestamp":9}');
    expect(toHost(given, given, calls)).toEqual([summary]);
  });

  test("has nothing of what a person typed to us, joined or not", () => {
    const asked = user("/palimpsest objects f1", 2);
    const joined = user(
      [
        { type: "text", text: "/palimpsest" },
        { type: "text", text: "two" },
      ],
      3,
    );
    const image = user(
      [
        { type: "text", text: "/palimpsest" },
        { type: "image", data: "" },
      ],
      4,
    );
    const other = user("/palimpsests are written over", 5);
    expect(asSent([user("one", 1), asked, joined, image, other], [])).toEqual([
      user("one", 1),
      user("two", 3),
      user([{ type: "image", data: "" }], 4),
      other,
    ]);
  });

  test("has no command of ours, but what another bot is told", () => {
    const typed = [
      "/ palimpsest objects",
      "/PALIMPSEST",
      " /Palimpsest: pin t1",
      "/palimpsest\u00a0why",
      "/palimpsest@ours",
    ];
    const said = { role: "assistant", content: [{ type: "text", text: "no" }], timestamp: 20 };
    const toOther = user("/palimpsest@other objects", 19);
    const names = ["/palimpsest-x", "/palimpsest_y", "/palimpsests"].map((text, at) => user(text, 10 + at));
    const commands = typed.map((text, at) => user(text, at + 1));
    expect(asSent([...commands, ...names, toOther, said], [])).toEqual([...names, toOther, said]);
    const joined = user(
      [...typed, "/palimpsest@other why"].map((text) => ({ type: "text", text })),
      19,
    );
    expect(asSent([joined, said], [])).toEqual([user("/palimpsest@other why", 19), said]);
  });

  test("has neither `/new` nor `/reset`, joined or not", () => {
    const joined = user(
      [
        { type: "text", text: "/new" },
        { type: "text", text: "after" },
      ],
      3,
    );
    const named = user("/new plan", 4);
    expect(asSent([user("/reset", 1), joined, named], [])).toEqual([user("after", 3), named]);
  });

  test("has apart what went out apart", () => {
    const texts = (...all: string[]) => all.map((text) => ({ type: "text", text }));
    const image = { type: "image", data: "" };
    const failed = user([...texts("look"), image], 2);
    const joined = user([...texts("/compact", "look"), image, ...texts("/palimpsest why", "go on")], 4);
    expect(asSent([joined], [user("/compact", 1), failed, user("go on", 4)])).toEqual([
      user("/compact", 1),
      failed,
      user("go on", 4),
    ]);
    // What stands in the list by itself, and what never went out, is not a part.
    expect(asSent([user("/compact", 1), joined], [user("/compact", 1)])[1]).toMatchObject({ timestamp: 4 });
    const twice = [user(texts("/compact", "one"), 3), called("call_1", 5000), user(texts("/compact", "two"), 8000)];
    const both = asSent(twice, [user("/compact", 2), user("/compact", 7000)]);
    expect(both.map(({ timestamp }) => timestamp)).toEqual([2, 3, 5000, 7000, 8000]);
    const unknown = user(texts("one", "two"), 9);
    expect(asSent([unknown], [user("two", 8)])).toEqual([unknown]);
  });
});

test("the running turn is what OpenClaw wrote and no history has", () => {
  const heard = new Heard();
  heard.add(called("call_0", 0));
  expect(heard.messages).toEqual([]);
  heard.begin([]);
  const turn = [user("one", 1), called("call_1", 2), result("call_1", 3)];
  for (const message of [...turn, { ...called("x", 4), stopReason: "aborted" }]) {
    heard.add(message);
  }
  expect(heard.messages).toEqual(turn);
  heard.forget(turn.slice(0, 1));
  expect(heard.messages).toEqual(turn.slice(1));
  // The next one was written before this one ended.
  heard.add(user("two", 5));
  heard.end();
  expect(heard.messages).toEqual([user("two", 5)]);
});

test("a running turn has each message once, and no command", () => {
  const heard = new Heard();
  for (const message of [user("/status", 1), user("/palimpsest pin t1", 2), user("/compact", 3), user("one", 4)]) {
    heard.add(message);
  }
  // The host joined the commands.
  heard.begin([
    user(
      [
        { type: "text", text: "/status" },
        { type: "text", text: "/compact" },
      ],
      3,
    ),
  ]);
  heard.add(user([{ type: "text", text: "one" }], 4));
  heard.add(user("/palimpsest", 5));
  heard.add(user("in the same second", 6000));
  heard.add(user("as this", 6000));
  const texts = heard.messages.map(({ content }) => content);
  expect(texts).toEqual([[{ type: "text", text: "one" }], "in the same second", "as this"]);
  heard.forget([user("as this", 6000)]);
  expect(heard.messages).toHaveLength(2);
});

test("a turn that OpenClaw tries again has its message once", () => {
  const heard = new Heard();
  const [asked, steered] = [user("go", 1), user("go", 8)].map((message, at) => ({
    ...message,
    idempotencyKey: `k${at}`,
  }));
  heard.add(asked);
  heard.begin([]);
  heard.add({ ...called("call_1", 2), stopReason: "error" });
  heard.begin([]);
  heard.add(user([{ type: "text", text: "go" }], 5));
  heard.add(steered);
  expect(heard.messages).toEqual([asked, steered]);
  heard.end();
  heard.begin([asked, steered]);
  heard.add(user("next", 9));
  expect(heard.messages).toEqual([user("next", 9)]);
});

test("of words in quick succession a turn has what it answers", () => {
  const heard = new Heard();
  const all = ["one", "two", "three"].map((text, at) => ({ ...user(text, at + 1), idempotencyKey: `k${at}` }));
  all.map((message) => heard.add(message));
  heard.begin([], "[Fri] one");
  expect(heard.messages).toEqual(all.slice(0, 1));
  const answer = { ...called("call_1", 4), content: [{ type: "text", text: "yes" }] };
  heard.add(answer);
  heard.add(user("four", 5));
  heard.forget([all[0], answer]);
  heard.end();
  heard.begin([all[0], answer], "three");
  expect(heard.messages).toEqual(all.slice(2));
  heard.forget(all.slice(2));
  heard.end();
  // It asks in other words than those that it wrote.
  heard.add(user("five", 6));
  heard.begin([all[0], answer, all[2], user("four", 5)], "fünf, not twofold");
  expect(heard.messages).toEqual([user("five", 6)]);
  heard.forget([user("five", 6)]);
  heard.end();
  heard.begin([all[0], answer, all[2], user("four", 5)], "two");
  expect(heard.messages).toEqual([all[1]]);
});

test("words that another message has had join no later turn", () => {
  const heard = new Heard();
  const [yes, order] = [user("yes", 1), user("do b", 2)];
  heard.add(yes);
  heard.add(order);
  heard.begin([], "do b");
  expect(heard.messages).toEqual([order]);
  heard.end();
  const [joined, again] = [user("yes\n\ndo b", 2), user("yes", 9)];
  const answer = { ...called("call_1", 3), content: [{ type: "text", text: "done" }] };
  heard.add(again);
  heard.begin([joined, answer], "[Mon] yes");
  expect(heard.messages).toEqual([again]);
  heard.end();
  heard.begin([joined, answer, again]);
  heard.add(user("first heard", 10));
  heard.begin([joined, answer, again]);
  heard.add(user("and more", 11));
  expect(heard.messages).toEqual([user("first heard", 10), user("and more", 11)]);
});

test("messages of one second keep each its own image", () => {
  const image = (data: string) => ({ type: "image", data, mimeType: "image/png" });
  const listed = ["A", "B"].map((data) => user([image(data)], 1_000));
  expect(withImages([user([], 1_000), user([], 1_000)], listed)).toEqual(listed);
  const [plain, shown] = [user("look", 1_000), user([{ type: "text", text: "look here" }, image("A")], 1_000)];
  expect(withImages([plain], [shown])).toEqual([plain]);
});

test("what is said while tools run stands behind their results", () => {
  const heard = new Heard();
  const [said, more] = [user("mind the gap", 3), user("and the step", 4)];
  const both = { ...called("call_1", 2), content: ["call_1", "call_2"].flatMap((id) => called(id, 2).content) };
  heard.add(user("go", 1));
  heard.begin([]);
  heard.add(both);
  heard.add(said);
  heard.add(result("call_1", 5));
  heard.add(more);
  expect(heard.messages).toEqual([user("go", 1), both, result("call_1", 5)]);
  heard.add(result("call_2", 6));
  const turn = [user("go", 1), both, result("call_1", 5), result("call_2", 6), said, more];
  expect(heard.messages).toEqual(turn);
  // The host joins them in the next turn's history.
  const joined = user(
    [said, more].map(({ content }) => ({ type: "text", text: content })),
    4,
  );
  expect(
    asSent(
      [...turn.slice(0, 4), joined],
      turn.filter(({ role }) => role === "user"),
    ),
  ).toEqual(turn);
});

test("a message that OpenClaw writes again with its image is one", () => {
  const heard = new Heard();
  const written = { ...user("look", 1), idempotencyKey: "k:user" };
  const image = { type: "image", data: "AAAA" };
  const again = {
    ...user([{ type: "text", text: "[media attached: a.png]\nlook" }, image], 1),
    idempotencyKey: "k:user",
  };
  heard.add(written);
  heard.begin([]);
  heard.add(again);
  expect(heard.messages).toEqual([again]);
});

test("a command of ours behind another one begins no turn", () => {
  const heard = new Heard();
  for (const message of [user("/status", 1), user("/palimpsest pin t1", 2), user("one", 3)]) {
    heard.add(message);
  }
  const texts = ["/status", "/palimpsest pin t1"].map((text) => ({ type: "text", text }));
  heard.begin([user(texts, 2)]);
  expect(heard.messages).toEqual([user("one", 3)]);
});

test("idle sessions close, and go on later as they were", async () => {
  const folder = temporaryFolder();
  const told: string[] = [];
  const logger = { warn: (message: string) => void told.push(message) };
  const failures = new Failures(join(folder, "palimpsest"), logger, async (text) => text);
  const sessions = new Sessions(join(folder, "palimpsest"), failures, new Authority());
  sessions.configure({ store: "store.sqlite", track: false });
  const who = (at: number) => ({ sessionId: `s${at}`, sessionKey: `agent:main:${at}`, cwd: folder });
  const first = await sessions.of(who(0));
  await first?.session.transformContext([user("hello", 1)]);
  for (let at = 1; at <= 16; at++) {
    expect(await sessions.of(who(at))).toBeDefined();
  }
  expect(await sessions.opened("s0")).toBeUndefined();
  const again = await sessions.of(who(0));
  expect(again).not.toBe(first);
  expect(again?.session.status().calls).toBe(1);
  expect(again?.store.path).toBe(join(folder, "store.sqlite"));
  for (let at = 0; at < 16; at++) {
    Object.assign((await sessions.of(who(at))) ?? {}, { users: 1 });
  }
  expect(await sessions.of(who(16))).toBe(await sessions.opened("s16"));
  for (let at = 0; at < 16; at++) {
    Object.assign((await sessions.opened(`s${at}`)) ?? {}, { users: 0 });
  }

  await sessions.choices.take("s0", { off: true });
  await sessions.close("s0");
  expect(await sessions.of(who(0))).toBeUndefined();
  expect(sessions.whyOff("s0")).toBe("you turned it off here");
  await sessions.choices.take("s0", { off: false });
  expect(await sessions.of(who(0))).toBeDefined();
  await sessions.closeAll();
  const store = await openStore({ path: join(folder, "store.sqlite") });
  expect((await store.sessions()).map(({ state }) => state)).toEqual(["paused"]);
  await store.close();
  expect(told).toEqual([]);
});

test("`/palimpsest` shows the state of a shared store", async () => {
  const folder = temporaryFolder();
  const told: string[] = [];
  const plugin = new Plugin(join(folder, "palimpsest"), { warn: (message: string) => void told.push(message) });
  writeFileSync(join(folder, "token"), "right\n", { mode: 0o644 });
  const shared = { xtdbUrl: "http://127.0.0.1:1", xtdbTokenFile: "token" };
  plugin.sessions.configure({ store: "store.sqlite", track: false, ...shared });
  const who = { sessionId: "s", sessionKey: "agent:main:main", cwd: folder };
  const current = await plugin.sessions.of(who);
  await current?.session.transformContext([user("hello", 1)]);
  plugin.authority.configure(...madeUpHost());
  const answer = () => runCommand(plugin, { ...who, ...operator, args: "status" });
  await expect
    .poll(answer, { timeout: 20_000, interval: 500 })
    .toMatch(/^ {10}not working for \d+ s: .*token.* \(NOT_PRIVATE\)$/m);
  expect(await answer()).toMatch(/^shared {4}http:\/\/127\.0\.0\.1:1: nothing was shared yet$/m);
  await expect
    .poll(() => told.join("\n"), { timeout: 30_000, interval: 500 })
    .toMatch(/nothing is shared for now, and what waits is kept: .*token/);
  await plugin.sessions.closeAll();
  expect(told).toHaveLength(1);
});

test("`/palimpsest open` says what to run on the gateway", async () => {
  const folder = join(temporaryFolder(), "it's here");
  mkdirSync(folder);
  const plugin = new Plugin(join(folder, "palimpsest"), console);
  plugin.sessions.configure({ store: "store.sqlite", track: false });
  const who = { sessionId: "s", sessionKey: "agent:main:main", cwd: folder };
  plugin.authority.configure(...madeUpHost());
  const answer = () => runCommand(plugin, { ...who, ...operator, args: "open" });
  const store = `'${join(folder, "store.sqlite").replace("'", `'\\''`)}'`;
  const first = "To see it in a browser, run on the gateway's machine: ";
  // Not by its name, which is not on the path.
  const program = `node ${programFile}`;
  expect(await answer()).toBe(`${first}\`${program} open --store ${store}\``);
  const current = await plugin.sessions.of(who);
  await current?.session.transformContext([user("hello", 1)]);
  expect(await answer()).toBe(`${first}\`${program} open ${current?.session.id} --store ${store}\``);
  await plugin.sessions.closeAll();
});

test("a sub-agent belongs to the conversation of its parent", async () => {
  const sessions = new Sessions(temporaryFolder(), new Failures("", console, async (text) => text), new Authority());
  const group = "agent:main:telegram:group:5";
  sessions.conversations.willSpawn("agent:main:subagent:1", "agent:main:main");
  sessions.conversations.willSpawn("agent:main:subagent:2", group);
  sessions.conversations.willSpawn("agent:main:subagent:3", "agent:main:subagent:2");
  const whose = (at: number) => sessions.conversations.whose(`s${at}`, `agent:main:subagent:${at}`);
  expect(await whose(1)).toEqual({ conversation: "owner", name: "agent:main:main" });
  expect(await whose(2)).toEqual({ conversation: "group", name: group });
  expect(await whose(3)).toEqual({ conversation: "group", name: group });
  expect(await whose(4)).toEqual({ conversation: "mixed", name: "agent:main:subagent:4" });
  sessions.conversations.forgetChild("agent:main:subagent:1");
  expect((await whose(1)).conversation).toBe("mixed");
});

test("wrong settings do not count, and the owner is told once", async () => {
  const folder = temporaryFolder();
  const told: string[] = [];
  const plugin = new Plugin(join(folder, "palimpsest"), { warn: (message: string) => void told.push(message) });
  const wrong = { enabled: "yes", prices: "nonsense", colour: 1, exclude: ["*.key", 5], hazards: join(folder, "gone") };
  const config = {
    ...wrong,
    previewTokens: Number.POSITIVE_INFINITY,
    store: "store.sqlite",
    track: false,
    keepResults: 7,
  };
  plugin.sessions.configure(config);
  plugin.sessions.configure({ ...config });
  const keys = ["enabled", "prices", "colour", "exclude", "previewTokens"].map((key) =>
    expect.stringContaining(`\`${key}\``),
  );
  for (const key of keys) {
    expect(told).toEqual([key]);
  }
  const settings = await plugin.sessions.settings();
  expect(settings).toMatchObject({ enabled: true, prices: "auto", exclude: ["*.key"], keepResults: 7 });
  const who = { sessionId: "s", sessionKey: "agent:main:main", cwd: folder };
  const current = await plugin.sessions.of(who);
  await current?.session.transformContext([user("hello", 1)]);
  plugin.authority.configure(...madeUpHost());
  const answer = (args: string) => runCommand(plugin, { ...who, ...operator, args });
  expect(await answer("status")).toMatch(/^notice {4}in `plugins\.entries\.palimpsest\.config` .*`enabled` must be/m);
  expect(await answer("settings keep")).toMatch(/^keepResults +7 .*\nin `plugins.*`enabled` must be/);
  expect(await answer("status")).toMatch(/^notice {4}the setting `hazards` is ignored: .*gone/m);
  expect(await answer("off")).toMatch(/^Palimpsest is off in this chat: the model gets OpenClaw's own messages/);
  expect(await answer("status")).toMatch(/^notice: in `plugins/m);
  await plugin.sessions.closeAll();
});

test("a run gets our tools unless a person turned us off", async () => {
  const folder = temporaryFolder();
  const made = () => new Sessions(folder, new Failures(folder, console, async (text) => text), new Authority());
  const sessions = made();
  const run = { sessionId: "s", sessionKey: "agent:main:main" };
  expect(sessions.offersTools(run)).toBe(true);
  await sessions.choices.take("s", { off: true });
  await sessions.choices.take("agent:main:group", { off: true });
  for (const known of [sessions, made()]) {
    expect(known.offersTools(run)).toBe(false);
    expect(known.offersTools({ sessionId: "other", sessionKey: "agent:main:group" })).toBe(false);
    expect(known.offersTools({ sessionId: "other", sessionKey: "agent:main:main" })).toBe(true);
  }
  await sessions.choices.take("s", { off: false });
  expect(sessions.offersTools(run)).toBe(true);
  sessions.configure({ enabled: false });
  expect(sessions.offersTools(run)).toBe(false);
});

test("what a person chooses counts where it cannot be kept", async () => {
  const folder = join(temporaryFolder(), "no folder");
  writeFileSync(folder, "");
  const sessions = new Sessions(folder, new Failures(folder, console, async (text) => text), new Authority());
  const run = { sessionId: "s", sessionKey: "agent:main:main" };
  const problem = await sessions.choices.take("s", { off: true });
  expect(problem).toMatch(/^It holds until the gateway ends, since `.*openclaw-sessions\.json` cannot be written: /);
  expect(await sessions.choices.take("other", { memoryOff: true })).toBe(problem);
  expect(await sessions.choices.of("s")).toEqual({ off: true });
  expect(sessions.offersTools(run)).toBe(false);
  rmSync(folder);
  expect(await sessions.choices.take("third", {})).toBeUndefined();
  expect(await sessions.choices.of("s")).toEqual({ off: true });
});

test("choices that come together are all kept, also while unread", async () => {
  const folder = temporaryFolder();
  const { choices } = new Sessions(folder, new Failures(folder, console, async (text) => text), new Authority());
  const names = ["a", "b", "c", "d", "e", "f"];
  expect(await Promise.all(names.map((name) => choices.take(name, { strangers: [name.repeat(999)] })))).toEqual(
    names.map(() => undefined),
  );
  const file = join(folder, "openclaw-sessions.json");
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toEqual(names);
  rmSync(file);
  mkdirSync(file);
  expect(await choices.of("a")).toEqual({ strangers: ["a".repeat(999)] });
});

test("off and `memory off` hold for all of the chat", async () => {
  const folder = temporaryFolder();
  const plugin = new Plugin(join(folder, "palimpsest"), console);
  const { sessions } = plugin;
  sessions.configure({ store: "store.sqlite", track: false });
  plugin.authority.configure(...madeUpHost());
  const who = (sessionId: string, sessionKey = "agent:main:main") => ({ sessionId, sessionKey, cwd: folder });
  const child = who("child", "agent:main:subagent:1");
  const other = who("other", "agent:main:other");
  sessions.conversations.willSpawn(child.sessionKey, "agent:main:main");
  const answer = (sessionId: string, args: string) => runCommand(plugin, { ...who(sessionId), ...operator, args });
  const isMemoryOff = async (one: ReturnType<typeof who>) => (await sessions.of(one))?.memory.isOff();
  const before = await sessions.of(child);
  await sessions.of(other);
  expect(await answer("today", "memory off")).toContain("off in this chat");
  expect(await Promise.all([who("tomorrow"), child, other].map(isMemoryOff))).toEqual([true, true, false]);
  expect(await sessions.of(child)).toBe(before);
  expect(await answer("today", "off")).toContain("off in this chat");
  expect(await Promise.all(["today", "tomorrow", "child"].map((one) => sessions.opened(one)))).toEqual(Array(3));
  expect(await sessions.opened("other")).toBeDefined();
  for (const begun of [who("tomorrow"), child]) {
    expect(await sessions.of(begun)).toBeUndefined();
    expect(sessions.offersTools(begun)).toBe(false);
  }
  await sessions.choices.take("tomorrow", { off: true });
  await answer("tomorrow", "on");
  for (const begun of [who("today"), who("tomorrow"), child]) {
    expect(await sessions.of(begun)).toBeDefined();
    expect(sessions.offersTools(begun)).toBe(true);
  }
  await answer("other", "off agent:main:main");
  expect(await sessions.opened("child")).toBeUndefined();
  await answer("other", "on agent:main:main");
  // The same session by the key of a chat that is off.
  await sessions.of(who("today"));
  await sessions.choices.take("agent:main:group:1", { off: true });
  expect(await sessions.of(who("today", "agent:main:group:1"))).toBeUndefined();
  await sessions.closeAll();
});

test("chat turned off: a sub-agent's turn goes on plain", async () => {
  const folder = temporaryFolder();
  const plugin = new Plugin(join(folder, "palimpsest"), console);
  plugin.sessions.configure({ store: "store.sqlite", track: false });
  plugin.authority.configure(...madeUpHost());
  const child = { sessionId: "child", sessionKey: "agent:main:subagent:1" };
  const host = { buildMemorySystemPromptAddition: () => undefined } as unknown as HostFunctions;
  const engine = new Engine(plugin, { workspaceDir: folder }, host);
  await engine.prepareSubagentSpawn({ parentSessionKey: "agent:main:main", childSessionKey: child.sessionKey });
  const chat = { sessionId: "s", sessionKey: "agent:main:main", ...operator };
  const text = Array.from({ length: 3000 }, (_, at) => `line ${at} of an output`).join("\n");
  let calls = 0;
  /** Whether an output of the sub-agent is shown in part. */
  const cuts = async () => {
    const toolCallId = `c${++calls}`;
    const content = [{ type: "toolCall", id: toolCallId, name: "exec", arguments: {} }];
    plugin.write(called(toolCallId, calls + 1, { content }), child.sessionKey);
    const event = { toolCallId, toolName: "exec", args: {}, result: { content: [{ type: "text", text }] } };
    return (await showResult(plugin, event, child)) !== undefined;
  };
  const runtimeSettings = { executionHost: { id: "openclaw-embedded" } };
  const attempt = { ...runtimeSettings, limits: { maxOutputTokens: 1 } };
  const assembled = (settings: object) =>
    engine.assemble({ ...child, messages: [user("one", 1)], runtimeSettings: settings });
  expect((await assembled(attempt)).systemPromptAddition).toBeDefined();
  expect(await cuts()).toBe(true);
  await runCommand(plugin, { ...chat, args: "off" });
  expect(await cuts()).toBe(false);
  expect((await assembled(runtimeSettings)).messages).toHaveLength(1);
  expect(await assembled(attempt)).not.toHaveProperty("systemPromptAddition");
  expect(plugin.sessions.offersTools(child)).toBe(false);
  expect(await cuts()).toBe(false);
  await engine.dispose();
  await plugin.sessions.closeAll();
});

test("turned off or on within a turn, the rest of it is plain", async () => {
  const folder = temporaryFolder();
  const plugin = new Plugin(join(folder, "palimpsest"), { warn: () => {} });
  plugin.sessions.configure({ store: "store.sqlite", track: false });
  plugin.authority.configure(...madeUpHost());
  const who = { sessionId: "s", sessionKey: "agent:main:main" };
  const host = { buildMemorySystemPromptAddition: () => undefined } as unknown as HostFunctions;
  const text = Array.from({ length: 3000 }, (_, at) => `line ${at} of an output`).join("\n");
  let time = 1;
  /** Whether an output is shown in part in a turn in which a person types this. */
  const turn = async (...typed: string[]) => {
    const engine = new Engine(plugin, { workspaceDir: folder }, host);
    const params = {
      ...who,
      messages: [user("one", 1)],
      runtimeSettings: { executionHost: { id: "openclaw-embedded" } },
    };
    const limits = { maxOutputTokens: 1 };
    await engine.assemble({ ...params, runtimeSettings: { ...params.runtimeSettings, limits } });
    const toolCallId = `c${time}`;
    const content = [toolCallId, `${toolCallId}b`].map((id) => ({ type: "toolCall", id, name: "exec", arguments: {} }));
    plugin.write(called(toolCallId, ++time, { content }), who.sessionKey);
    for (const args of typed) {
      await runCommand(plugin, { ...who, ...operator, args });
    }
    const event = { toolCallId, toolName: "exec", args: {}, result: { content: [{ type: "text", text }] } };
    const shown = await showResult(plugin, event, who);
    expect((await engine.assemble(params)).messages).toHaveLength(1);
    const again = await showResult(plugin, { ...event, toolCallId: `${toolCallId}b` }, who);
    expect(again !== undefined).toBe(shown !== undefined);
    expect(await engine.commitTurn({ ...who, advancementKey: "k", messages: [] })).toEqual({ status: "committed" });
    await engine.dispose();
    return shown !== undefined;
  };
  expect(await turn()).toBe(true);
  expect(await turn("off")).toBe(false);
  expect(await turn("on")).toBe(false);
  expect(await turn("off", "on")).toBe(false);
  expect(await turn()).toBe(true);
  expect(plugin.failures.newest).toBeUndefined();
  expect((await plugin.sessions.opened("s"))?.users).toBe(0);
  await plugin.sessions.closeAll();
});

test("commands may be written with capitals, and work as printed", async () => {
  const folder = temporaryFolder();
  const plugin = new Plugin(join(folder, "palimpsest"), console);
  plugin.sessions.configure({ store: "store.sqlite", track: false });
  const who = { sessionId: "s", sessionKey: "agent:main:main", cwd: folder };
  const current = await plugin.sessions.of(who);
  const long = Array.from({ length: 90 }, (_, at) => `line ${at}`).join("\n");
  const output = { ...result("call_1", 3), content: [{ type: "text", text: long }], toolName: "exec" };
  const run = { ...called("call_1", 2), content: [{ type: "toolCall", id: "call_1", name: "exec", arguments: {} }] };
  await current?.session.transformContext([user("one", 1), run, output]);
  plugin.authority.configure(...madeUpHost());
  const answer = (args: string) => runCommand(plugin, { ...who, ...operator, args });
  expect(await answer("Objects EXEC")).toMatch(/^t1 /);
  expect(await answer("\ufeff\u200b objects \t exec \u200e\n")).toMatch(/^t1 /);
  expect(await answer("MEMORY Pages")).not.toContain("is not known");
  expect(await answer("MEMORY Help")).toContain("`/palimpsest memory` takes:");
  const shown = await answer("SHOW T1");
  const [, printed = ""] = /`(node [^`]+)`/.exec(shown) ?? [];
  expect(printed).toContain(`--store ${join(folder, "store.sqlite")}`);
  const all = execFileSync(process.execPath, printed.split(" ").slice(1), { encoding: "utf8" });
  expect(all.trimEnd().split("\n")).toHaveLength(90);
  expect(await answer("OFF")).toContain("is off in this chat");
  expect(await answer("On")).toBe("Palimpsest is on again in this chat.");
  await plugin.sessions.closeAll();
});

test("on a full disk turns go on, without what was typed to us", async () => {
  const folder = temporaryFolder();
  const plugin = new Plugin(join(folder, "palimpsest"), { warn: () => {} });
  plugin.sessions.configure({ store: "store.sqlite", track: false });
  const who = { sessionId: "s", sessionKey: "agent:main:main" };
  const host = { buildMemorySystemPromptAddition: () => undefined } as unknown as HostFunctions;
  /** A turn in which the history has this. Resolves to what goes out of it. */
  const turn = async (messages: HostMessage[], fails = false) => {
    const engine = new Engine(plugin, { workspaceDir: folder }, host);
    const params = { ...who, messages, runtimeSettings: { executionHost: { id: "openclaw-embedded" } } };
    await engine.assemble({
      ...params,
      runtimeSettings: { ...params.runtimeSettings, limits: { maxOutputTokens: 1 } },
    });
    const session = (await plugin.sessions.opened("s"))?.session as Session;
    const full = async () => Promise.reject(Object.assign(new Error("no space left"), { code: "NO_SPACE" }));
    const { transformContext, commitTurn } = session;
    Object.assign(session, fails ? { transformContext: full, commitTurn: full } : {});
    const { messages: out } = await engine.assemble(params);
    const committed = await engine.commitTurn({ ...who, advancementKey: `k${messages.length}`, messages: [] });
    Object.assign(session, { transformContext, commitTurn });
    await engine.dispose();
    expect(committed).toEqual({ status: "committed" });
    return out.map(({ content }) => content);
  };
  const said = (text: string, timestamp: number) => ({
    role: "assistant",
    content: [{ type: "text", text }],
    timestamp,
  });
  const history = [user("one", 1), said("a", 2)];
  await turn(history);
  history.push(user("two", 3), said("b", 4), user("/palimpsest", 5), user("three", 6), said("c", 7));
  const typed = ["one", [{ type: "text", text: "a" }], "two", [{ type: "text", text: "b" }], "three"];
  expect(await turn(history, true)).toEqual([...typed, [{ type: "text", text: "c" }]]);
  expect(plugin.failures.newest).toContain("NO_SPACE");
  expect(await turn(history)).toHaveLength(6);
  expect((await plugin.sessions.opened("s"))?.session.status().calls).toBe(3);
  await plugin.sessions.closeAll();
});

test("images that a person sent stand in later turns", async () => {
  const folder = temporaryFolder();
  const plugin = new Plugin(join(folder, "palimpsest"), { warn: () => {} });
  plugin.sessions.configure({ store: "store.sqlite", track: false });
  const host = { buildMemorySystemPromptAddition: () => undefined } as unknown as HostFunctions;
  let engine = new Engine(plugin, { workspaceDir: folder }, host);
  const runtimeSettings = { executionHost: { id: "openclaw-embedded" } };
  const assembled = async (messages: HostMessage[], limits = {}) => {
    const params = { sessionId: "s", sessionKey: "agent:main:main", messages };
    return (await engine.assemble({ ...params, runtimeSettings: { ...runtimeSettings, limits } })).messages;
  };
  const text = (said: string) => ({ type: "text", text: said });
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };
  const answer = { role: "assistant", content: [text("a cat")], timestamp: 2 };
  const named = [user("what is it?", 1), answer, { ...user("", 3), idempotencyKey: "k:user" }, user("and this?", 4000)];
  const context = { role: "custom", customType: "other", content: "noted", timestamp: 5000 };
  await assembled(named, { maxOutputTokens: 1 });
  // Without a caption the host says something; and it puts in messages of its own.
  const [seen, uncaptioned] = [user([text("what is it?"), image], 1), user([text("no caption"), image], 3)];
  const shown = [
    seen,
    answer,
    { ...uncaptioned, idempotencyKey: "k:user" },
    context,
    user([text("another"), image], 4000),
  ];
  const expected = [...shown.slice(0, 3), named[3]];
  expect(await assembled(shown)).toEqual(expected);
  expect(await assembled(shown)).toEqual(expected);
  const recorded = await (await plugin.sessions.opened("s"))?.store.recordedCall("latest");
  expect(recorded?.messages.map((message) => message.includes("AAAA"))).toEqual([true, false, true, false]);
  await engine.dispose();
  // Where a turn fails to begin, its history goes out all the same.
  plugin.begin = () => {
    throw new Error("broken");
  };
  engine = new Engine(plugin, { workspaceDir: folder }, host);
  await assembled(named, { maxOutputTokens: 1 });
  expect(await assembled(shown)).toEqual(expected);
  expect(plugin.failures.newest).toContain("broken");
  await engine.dispose();
  await plugin.sessions.closeAll();
});

test("a request may fill the window, and less after a refusal", () => {
  const room = new Room();
  const limits = (promptTokenBudget: number, maxOutputTokens: number | null) => ({
    sessionId: "s",
    messages: [],
    tokenBudget: promptTokenBudget,
    runtimeSettings: { limits: { promptTokenBudget, maxOutputTokens } },
  });
  expect(room.window).toBeUndefined();
  room.beforePrompt(limits(99_520, 20_000), 128_000);
  expect(room).toMatchObject({ window: 128_000, promptTokens: 8_480 });
  room.within(limits(200_000, null));
  expect(room.window).toBe(200_000);
  room.sent(40_000, []);
  expect(room.promptTokens).toBe(10_000);
  room.sent(40_400, []);
  expect(room.promptTokens).toBe(10_000);
  room.limitTo(50_000);
  expect(room).toMatchObject({ window: 50_000, whole: 200_000 });
});

test("once usage is reported, the prompt is counted as at first", () => {
  const room = new Room();
  room.beforePrompt({ sessionId: "s", messages: [], tokenBudget: 92_000 }, 100_000);
  expect(room.promptTokens).toBe(8_000);
  room.sent(40_000, []);
  expect(room.promptTokens).toBe(10_000);
  room.reported();
  // What the session knows by the report is of 8,000.
  expect(room.promptTokens).toBe(8_000);
  room.sent(60_000, []);
  expect(room.promptTokens).toBe(12_000);
});

test("a prompt that was taken for far too little is counted anew", () => {
  const room = new Room();
  room.beforePrompt({ sessionId: "s", messages: [], tokenBudget: 88_000 }, 100_000);
  expect(room.promptTokens).toBe(12_000);
  // The host tells of its system prompt, and not of its tools.
  room.sent(160_000, []);
  room.reported();
  expect(room.promptTokens).toBe(40_000);
});

test("counts a prompt of which the host only gives the length", async () => {
  const store = await openStore({ path: ":memory:" });
  const session = await openSession(store, { harness: "openclaw", sessionId: "s", cwd: temporaryFolder() });
  await session.transformContext([user("hello", 1)], { promptTokens: 9_000 });
  expect(session.status().requestTokens).toBeGreaterThan(9_000);
  expect(session.status().requestTokens).toBeLessThan(9_100);
  await session.close();
  await store.close();
});

test("a model's price comes from the configuration or its usage", () => {
  const rates = new Rates();
  const models = [{ id: "m", contextWindow: 9, cost: { input: 3, cacheRead: 0.3, cacheWrite: 3.75 } }];
  const config = { models: { providers: { own: { api: "openai-completions", baseUrl: "http://x", models } } } };
  expect(modelOf("m", "own", config, rates)).toMatchObject({
    contextWindow: 9,
    api: "openai-completions",
    cost: { input: 3 },
  });
  expect(modelOf("m", "cloud", config, rates)).toMatchObject({ provider: "cloud", cost: undefined });
  const answer = { role: "assistant", provider: "cloud", model: "m", api: "anthropic-messages" };
  rates.learn({ ...answer, usage: { input: 1_000, cacheRead: 0, cost: { input: 0.003 } } });
  expect(modelOf("m", "cloud", config, rates)).toMatchObject({ api: "anthropic-messages", cost: undefined });
  rates.learn({ ...answer, usage: { input: 0, cacheRead: 2_000, cost: { cacheRead: 0.0006 } } });
  expect(modelOf("m", "cloud", config, rates)?.cost).toEqual({ input: 3, cacheRead: 0.3, cacheWrite: 3 });
  expect(modelOf(undefined, "cloud", config, rates)).toBeUndefined();
});
