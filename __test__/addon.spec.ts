// The addon's exports: their shapes, what wrong arguments come to, and the life of stores and sessions.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import * as addon from "../index.js";
import {
  checkSettings,
  countTokens,
  loadSettings,
  openSession,
  openStore,
  type Session,
  Store,
  settingProblems,
  settingValues,
} from "../index.js";
import { temporaryFolder } from "./e2e/support.ts";
import { crossings, defaults, rejection, session, step, store, user, wrong } from "./sessions.ts";

function methodsOf(prototype: object): string[] {
  return Object.getOwnPropertyNames(prototype)
    .filter((name) => name !== "constructor")
    .sort();
}

describe("the exports", () => {
  test("are the documented ones", () => {
    expect(Object.keys(addon).sort()).toEqual([
      "Maintenance",
      "Memory",
      "Session",
      "SharedStore",
      "Store",
      "Tracking",
      "__napiBindingTarget",
      "checkSettings",
      "countTokens",
      "doctor",
      "documentWithoutSecrets",
      "findSessions",
      "learnHazards",
      "loadSettings",
      "migrate",
      "openMemory",
      "openSession",
      "openStore",
      "pricePresets",
      "projectTrust",
      "removeTemporary",
      "replayFile",
      "replayReport",
      "setAside",
      "settingProblems",
      "settingValues",
      "storePath",
      "tools",
      "trustProject",
      "trustedProjects",
      "withoutSecrets",
      "writePrivate",
    ]);
  });

  test("have the documented classes", () => {
    expect(methodsOf(addon.Store.prototype)).toEqual([
      "backlinks",
      "bill",
      "close",
      "compareCalls",
      "comparedCall",
      "comparedCalls",
      "content",
      "diff",
      "expand",
      "find",
      "findHandle",
      "findSession",
      "get",
      "history",
      "id",
      "index",
      "items",
      "ledger",
      "links",
      "list",
      "maintenance",
      "name",
      "notice",
      "path",
      "put",
      "query",
      "recordedCall",
      "relations",
      "replaySession",
      "resolve",
      "search",
      "sessionDocument",
      "sessions",
      "shared",
      "timeline",
      "track",
      "unname",
    ]);
    const maintenance = ["backup", "doctor", "exportArchive", "forget", "gc", "importArchive", "stats"];
    expect(methodsOf(addon.Maintenance.prototype)).toEqual(maintenance);
    expect(methodsOf(addon.SharedStore.prototype)).toEqual([
      "finish",
      "look",
      "machines",
      "pull",
      "pullSession",
      "pullSessions",
      "push",
      "pushSession",
      "server",
      "sessions",
      "status",
    ]);
    expect(methodsOf(addon.Memory.prototype)).toEqual([
      "accept",
      "captureModel",
      "capturePrompt",
      "check",
      "checkWrite",
      "compacted",
      "confirm",
      "confirmAllOf",
      "conversations",
      "ended",
      "explainWrite",
      "faults",
      "flush",
      "importFrom",
      "isWrittenBeside",
      "isWrittenBy",
      "observe",
      "overview",
      "pages",
      "propose",
      "recall",
      "remember",
      "section",
      "stale",
      "takeFrom",
      "trace",
      "traces",
      "verify",
      "waiting",
      "withdraw",
    ]);
    expect(methodsOf(addon.Session.prototype)).toEqual([
      "answerCompaction",
      "checkWrite",
      "close",
      "commitTurn",
      "continueFrom",
      "enterPool",
      "explainFailedEdit",
      "find",
      "id",
      "leavePool",
      "ledger",
      "memoryChanged",
      "memorySection",
      "met",
      "mountNotices",
      "onEvent",
      "preparePayload",
      "recordFailedCall",
      "recordToolCall",
      "recordUsage",
      "sets",
      "sharing",
      "showResult",
      "status",
      "tools",
      "transformContext",
    ]);
    expect(methodsOf(addon.Tracking.prototype)).toEqual(["add", "close", "remove", "settle", "status"]);
  });

  test("are made by their functions only", () => {
    for (const Class of [addon.Store, addon.Maintenance, addon.Memory, addon.Session, addon.Tracking]) {
      expect(() => new (wrong(Class))()).toThrow("constructor");
    }
  });

  test("give settings whole, with defaults", async () => {
    const settings = await loadSettings({});
    expect(settings).toEqual({
      enabled: true,
      layout: "log",
      store: null,
      filesystemId: null,
      mounts: [],
      sandbox: null,
      keepResults: 4,
      collapseTokens: 1_000,
      extraShare: 0.03,
      extraTokens: 3_000,
      thrift: "balanced",
      faultTokens: 0,
      hazards: null,
      previewTokens: 1_000,
      previewReads: false,
      instructionFiles: null,
      instructionTokens: 16_000,
      activePerTurn: 5,
      activeTurns: 3,
      poolTokens: 8_000,
      linkedTokens: 0,
      track: true,
      maxTextBytes: 4_194_304,
      maxOutputBytes: 16_777_216,
      highWater: 0.7,
      firstTokenSeconds: 10,
      promptTokensPerSecond: 500,
      deadlineSeconds: 2,
      prices: "auto",
      exclude: null,
      excludeAlso: null,
      xtdbUrl: null,
      xtdbTokenFile: null,
      xtdbCaFile: null,
      shareSessions: false,
      shareAs: null,
    });
    await session({ settings });
  });

  test("give a store its ID and path", async () => {
    const path = join(temporaryFolder(), "new", "store.sqlite");
    const first = await store(path);
    const second = await store(path);
    expect(first).toBeInstanceOf(Store);
    expect(first.id).toMatch(/^[0-9a-f-]{36}$/);
    expect([first.path, first.notice]).toEqual([path, null]);
    expect(second.id).toBe(first.id);
    expect((await store()).path).toBe(":memory:");
  });

  test("give a status of numbers", async () => {
    const none = { count: 0, cost: 0 };
    const s = await session();
    await s.transformContext([user("hello")]);
    expect(s.status()).toEqual({
      calls: 1,
      epoch: 0,
      windowTokens: 2,
      plainTokens: 2,
      savedShare: 0,
      requestTokens: 2,
      plainRequestTokens: 2,
      hostRequestTokens: 2,
      hostRequestDollars: null,
      faults: {
        count: 0,
        cost: 0,
        charged: 0,
        kinds: { asked: none, reread: none, repeated: none, failedEdit: none, quoted: none },
      },
      billDollars: null,
      plainBillDollars: null,
      billRatio: 1,
      activeObjects: 0,
      indexedObjects: 0,
      namedFiles: 0,
      pinnedObjects: 0,
      silentPlaces: [],
    });
  });

  test("count tokens, lone surrogates and NUL included", async () => {
    expect(await countTokens("")).toBe(0);
    expect(await countTokens("hello world")).toBe(2);
    expect(await countTokens("a\u0000\ud800")).toBeGreaterThan(1);
  });
});

describe("openStore rejects", () => {
  test("a directory", async () => {
    const error = await rejection(() => openStore({ path: temporaryFolder() }));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", hint: expect.stringContaining("PALIMPSEST_STORE") });
    expect(error.report).toMatch(/^STORE_UNAVAILABLE: /);
  });

  test("a file that is not a database, and leaves it as it is", async () => {
    const path = join(temporaryFolder(), "store.sqlite");
    writeFileSync(path, "garbage ".repeat(1_000), { mode: 0o600 });
    const error = await rejection(() => openStore({ path }));
    expect(error).toMatchObject({ code: "STORE_CORRUPT", hint: expect.stringContaining("check the path") });
  });

  test("a store of a newer schema, with both numbers", async () => {
    const path = join(temporaryFolder(), "store.sqlite");
    await (await openStore({ path })).close();
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 999");
    database.close();
    const error = await rejection(() => openStore({ path }));
    expect(error).toMatchObject({
      code: "NEWER_SCHEMA",
      hint: "update palimpsest; if that was done meanwhile, start this again",
    });
    expect(error.message).toMatch(/schema 999, this program knows up to \d+/);
  });

  test("a path below a file", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    expect(await rejection(() => openStore({ path: join(folder, "file", "store.sqlite") }))).toMatchObject({
      code: "STORE_UNAVAILABLE",
      hint: expect.any(String),
    });
  });

  test.each([
    ["a number for the options", 5],
    ["a text for the options", "store.sqlite"],
    ["a number for the path", { path: 5 }],
    ["null for the path", { path: null }],
    ["an empty path", { path: "" }],
    ["an unknown setting", { path: ":memory:", settings: { layuot: "log" } }],
    [
      "a getter that throws",
      {
        get path() {
          throw new Error("no path");
        },
      },
    ],
  ])("%s", async (_, options) => {
    expect(await rejection(() => openStore(wrong(options)))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

test("settingValues lists every setting with who set it", async () => {
  const agentDir = temporaryFolder();
  writeFileSync(join(agentDir, "palimpsest.json"), '{"keepResults": 3}');
  const values = await settingValues({ agentDir });
  expect(values.map(({ key }) => key)).toEqual(Object.keys(await loadSettings({})));
  const of = (key: string) => values.find((value) => value.key === key);
  expect(of("keepResults")).toEqual({
    key: "keepResults",
    value: 3,
    source: "user",
    place: join(agentDir, "palimpsest.json"),
  });
  expect(of("layout")).toEqual({ key: "layout", value: "log", source: "default" });
  const error = await rejection(() => settingValues(wrong(5)));
  expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a wrong setting does not count, and is named", async () => {
  const agentDir = temporaryFolder();
  const file = join(agentDir, "palimpsest.json");
  writeFileSync(file, `{"layuot": "log", "highWater": 80, "keepResults": 3, "sandbox": 5}`);
  const problems = await settingProblems({ agentDir });
  expect(problems).toEqual([expect.stringContaining(file)]);
  expect(problems[0]).toMatch(/`layuot` is not a setting.*`highWater` must be.*`sandbox` must be/);
  const settings = await loadSettings({ agentDir, needed: [] });
  // Files of a sandbox that nobody knows are never those of this machine.
  expect(settings).toMatchObject({ highWater: 0.7, keepResults: 3, sandbox: "unknown" });
  const values = await settingValues({ agentDir });
  expect(values.find(({ key }) => key === "highWater")).toMatchObject({ value: 0.7, source: "default" });
  expect(await settingProblems({ agentDir: temporaryFolder() })).toEqual([]);
  expect(await rejection(() => settingProblems(wrong(5)))).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a session goes on where the file of `hazards` is gone", async () => {
  const [folder, store] = [temporaryFolder(), await openStore({ path: ":memory:" })];
  const settings = { hazards: join(folder, "gone.json") };
  const session = await openSession(store, { harness: "h", sessionId: "s", cwd: folder, settings });
  expect(await session.mountNotices()).toEqual([
    expect.stringMatching(/^the setting `hazards` is ignored: .*gone\.json/),
  ]);
  await session.close();
  await store.close();
});

test("checkSettings takes anything", () => {
  const given = { enabled: "yes", layout: "pools", excludeAlso: ["*.key", 5] };
  const { settings, problems } = checkSettings(given);
  expect(settings).toEqual({ layout: "pools", excludeAlso: ["*.key"] });
  expect(problems).toEqual([
    expect.stringContaining("`enabled` must be"),
    expect.stringContaining("`excludeAlso` has"),
  ]);
  for (const none of [undefined, null, 5, "text", [], () => {}, 5n]) {
    expect(checkSettings(none)).toEqual({ settings: {}, problems: [expect.any(String)] });
  }
});

describe("loadSettings rejects", () => {
  test("wrong keys and values, all of them named, with the file", async () => {
    const agentDir = temporaryFolder();
    writeFileSync(join(agentDir, "palimpsest.json"), `{"layuot": "log", "highWater": 80}`);
    const error = await rejection(() => loadSettings({ agentDir }));
    expect(error).toMatchObject({ code: "INVALID_SETTINGS" });
    expect(error.message).toContain(join(agentDir, "palimpsest.json"));
    expect(error.message).toContain("`layuot` is not a setting, `layout` is");
    expect(error.message).toContain("`highWater` must be a number above 0 and up to 1, is `80`");
  });

  test("what only the user may set, in a project", async () => {
    const projectDir = temporaryFolder();
    mkdirSync(join(projectDir, ".pi"));
    writeFileSync(join(projectDir, ".pi", "palimpsest.json"), `{"store": "/elsewhere"}`);
    const places = { projectDir, agentDir: temporaryFolder() };
    expect(await rejection(() => loadSettings({ ...places, trusted: true }))).toMatchObject({
      code: "INVALID_SETTINGS",
    });
    expect(await loadSettings(places), "not before the person trusts it").toMatchObject({ layout: "log" });
  });

  test.each([undefined, null, 5, "dir", { agentDir: 5 }])("%o for the places", async (places) => {
    expect(await rejection(() => loadSettings(wrong(places)))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("openSession rejects", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;

  test.each<[string, object]>([
    ["a relative working folder", { cwd: "here" }],
    ["an empty session ID", { sessionId: "" }],
    ["a blank session ID", { sessionId: " \n" }],
    ["a session ID that is not text", { sessionId: 7 }],
    ["a missing harness", { harness: undefined }],
    ["an unknown setting", { settings: { layuot: "log" } }],
    ["a setting of a wrong type", { settings: { keepResults: "10" } }],
    ["a setting out of its bounds", { settings: { highWater: -3 } }],
    ["settings that are no object", { settings: [] }],
    ["settings without an end", { settings: cyclic }],
  ])("%s", async (_, options) => {
    const given = wrong({ ...defaults, ...options });
    const error = await rejection(async () => openSession(await store(), given));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("what is not a store", async () => {
    const notStores = [undefined, null, {}, Store.prototype, await session(), addon.tools()[0]];
    for (const value of notStores) {
      expect(await rejection(() => openSession(wrong(value), defaults))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });

  test("options that are no object", async () => {
    const inStore = await store();
    for (const options of [undefined, null, 5, "s"]) {
      expect(await rejection(() => openSession(inStore, wrong(options)))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });
});

describe("after close", () => {
  test("a session rejects with CLOSED, and can be closed twice", async () => {
    const s = await session();
    await s.transformContext([user("hello")]);
    await s.close();
    await s.close();
    const finished = { toolCallId: "c", toolName: "read", args: {}, isError: false };
    const calls = [
      () => s.transformContext([user("hello")]),
      () => s.recordToolCall(finished),
      () => addon.tools()[0].execute(s, "c", { name: "t1" }),
    ];
    for (const call of calls) {
      expect(await rejection(call)).toMatchObject({ code: "CLOSED", message: "the session is closed" });
    }
    s.recordFailedCall("closed");
    expect(s.status().calls).toBe(1);
  });

  test("a store rejects with CLOSED, and closing again does nothing", async () => {
    const opened = await store();
    const s = await session({}, opened);
    await opened.close();
    await opened.close();
    expect(await rejection(() => openSession(opened, defaults))).toMatchObject({ code: "CLOSED" });
    expect(await rejection(() => s.transformContext([user("hello")]))).toMatchObject({ code: "CLOSED" });
    expect(opened.path).toBe(":memory:");
  });

  test("calls made just before come to their end, in their order", async () => {
    const s = await session({ cwd: temporaryFolder() });
    const list = [user("hello"), ...step(1, "out ".repeat(5_000))];
    const event = { toolCallId: "c", toolName: "write", args: { path: "new.txt" }, isError: false };
    const order: string[] = [];
    const noted = (name: string, call: Promise<unknown>) => call.then(() => order.push(name));
    const calls = [
      noted("first", s.transformContext(list)),
      noted("tool", s.recordToolCall(event)),
      noted("second", s.transformContext(list)),
      noted("close", s.close()),
    ];
    // The event is taken as it was.
    event.args.path = "other.txt";
    await Promise.all(calls);
    expect(order).toEqual(["first", "tool", "second", "close"]);
    expect(s.status()).toMatchObject({ calls: 2, indexedObjects: 2 });
    expect(await rejection(() => s.transformContext(list))).toMatchObject({ code: "CLOSED" });
  });
});

describe("several at once", () => {
  test("sessions of one store do not see each other's chats", async () => {
    const shared = await store();
    const [a, b] = await Promise.all([session({ sessionId: "a" }, shared), session({ sessionId: "b" }, shared)]);
    await Promise.all([a.transformContext([user("one")]), b.transformContext([user("two"), ...step(1, "out")])]);
    expect([a.status().indexedObjects, b.status().indexedObjects]).toEqual([0, 1]);
    expect([a.status().calls, b.status().calls]).toEqual([1, 1]);
  });

  test("stores do not see each other's sessions", async () => {
    const stores = [await store(), await store()];
    const both = await Promise.all(stores.map((each) => session({}, each)));
    await both[0].transformContext([user("one")]);
    expect(both.map((each) => each.status().calls)).toEqual([1, 0]);
  });

  test("a session goes on where it was closed, in a store on disk", async () => {
    const path = join(temporaryFolder(), "store.sqlite");
    const list = [user("hello"), ...step(1, "out")];
    const before = await session({}, await store(path));
    await before.transformContext(list);
    await before.close();
    const after = await session({}, await store(path));
    expect(after.status()).toMatchObject({ calls: 1, indexedObjects: 1 });
    expect(await after.transformContext(list)).toEqual(list);
  });
});

describe("onEvent", () => {
  const rewritten = async (s: Session) => {
    await s.transformContext([user("one"), user("two", 2)]);
    await s.transformContext([user("one"), user("other", 3)]);
  };

  test("calls every listener even if another one throws", async () => {
    const s = await session();
    const events: unknown[] = [];
    s.onEvent((event) => {
      event.type = wrong("changed by a listener");
      throw new Error("a listener's own fault");
    });
    s.onEvent(async () => {
      throw new Error("an async listener's own fault");
    });
    s.onEvent((event) => events.push(event));
    await rewritten(s);
    expect(events).toContainEqual({ type: "host_rewrote", how: "branch", at: 1 });
    expect(events.every((event) => typeof (event as { type: unknown }).type === "string")).toBe(true);
  });

  test("lets a listener use the session", async () => {
    const s = await session();
    let inner: Promise<unknown> | undefined;
    const list = [user("one")];
    s.onEvent(() => {
      inner ??= s.transformContext(list);
    });
    await rewritten(s);
    expect(await inner).toEqual(list);
  });

  test("returns a function that ends the subscription", async () => {
    const s = await session();
    const heard: unknown[][] = [[], []];
    const end = s.onEvent((event) => heard[0].push(event));
    s.onEvent((event) => heard[1].push(event));
    end();
    await rewritten(s);
    expect([heard[0].length, heard[1].length > 0]).toEqual([0, true]);
  });

  test.each([undefined, null, 5, "listener", {}])("refuses %o for a listener", async (listener) => {
    const s = await session();
    expect(() => s.onEvent(wrong(listener))).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

describe("a session tells", () => {
  test("its ID, which the store lists", async () => {
    const inStore = await store();
    const s = await session({}, inStore);
    expect(await inStore.sessions()).toEqual([]);
    await s.transformContext([user("Hello.")]);
    expect((await inStore.sessions()).map(({ id, title }) => [id, title])).toEqual([[s.id, "Hello."]]);
  });

  test("its sets, by handle", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.txt"), "one\n");
    const s = await session({ cwd: folder });
    expect(await s.sets()).toEqual({ index: [], pool: [], active: [], pinned: [] });
    const list = [user("hello"), ...step(1, "first"), ...step(2, "second")];
    await s.transformContext(list);
    await s.recordToolCall({ toolCallId: "c", toolName: "read", args: { path: "a.txt" }, isError: false });
    const pin = addon.tools().find(({ name }) => name === "pin");
    await pin?.execute(s, "p", { name: "t2" });
    const { index, pool, active, pinned } = await s.sets();
    expect(index.map(({ handle, type, path, tool }) => [handle, type, path, tool])).toEqual([
      ["t1", "toolcall", null, "bash"],
      ["t2", "toolcall", null, "bash"],
      ["f1", "file", join(folder, "a.txt"), null],
    ]);
    expect(index[0].id).toBe("call_1");
    expect([pool, active, pinned]).toEqual([["t1", "t2", "f1"], ["t1", "t2"], ["t2"]]);
    expect(s.status()).toMatchObject({ indexedObjects: 3, activeObjects: 2, pinnedObjects: 1 });
  });
});

describe("the other methods", () => {
  test("refuse wrong arguments", async () => {
    const s = await session();
    for (const event of [undefined, 5, {}, { toolCallId: "c" }, { toolCallId: "c", toolName: 1 }]) {
      expect(await rejection(() => s.recordToolCall(wrong(event)))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(() => s.recordFailedCall(wrong(5))).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    expect(await rejection(() => countTokens(wrong(5)))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("take any arguments of tools that are none of theirs", async () => {
    const s = await session();
    for (const args of [null, 5, "text", [], { path: 7 }, { path: "\u0000" }, { path: "a/".repeat(10_000) }]) {
      await s.recordToolCall({ toolCallId: "c", toolName: "edit", args, isError: false });
    }
    expect(s.status().indexedObjects).toBe(0);
  });

  test("work on a frozen session", async () => {
    const s = Object.freeze(await session());
    expect(await s.transformContext([])).toEqual([]);
  });

  test("may be wrapped by the host, before and after the first call", async () => {
    const s = await session();
    let calls = 0;
    const original = s.transformContext.bind(s);
    s.transformContext = (...args) => {
      calls += 1;
      return original(...args);
    };
    const list = [user("hello")];
    await s.transformContext(list);
    const seen = crossings();
    await s.transformContext(list);
    expect(calls).toBe(2);
    expect(seen).toEqual([{ skip: 1, json: "[]" }]);
  });
});
