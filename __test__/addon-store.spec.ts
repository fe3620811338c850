// The methods of `Store`: shapes, codes, wrong arguments. What a store does is tested in Rust, on every backend.
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ItemContent, openStore, type Store, storePath } from "../index.js";
import { withRefreshed } from "../lib/refreshed.js";
import { isEverything } from "../scripts/lib/tiers.js";
import { temporaryFolder } from "./e2e/support.ts";
import { rejection, session, step, store, user, wrong } from "./sessions.ts";

const call = (text: string, more: object = {}) => ({ type: "toolcall" as const, id: "call", content: text, ...more });

async function codeOf(attempt: () => Promise<unknown>): Promise<string> {
  return (await rejection(attempt)).code;
}

test.each(["READ_ONLY", "NO_SPACE"])("what fails with %s is done in a copy", async (code) => {
  const to = await openStore({ path: join(temporaryFolder(), "store.sqlite") });
  await to.put(call("one\n"));
  const paths: string[] = [];
  const read = await withRefreshed({ path: to.path }, async (opened) => {
    paths.push(opened.path);
    if (opened.path === to.path) {
      throw Object.assign(new Error("cannot be written"), { code });
    }
    return opened.content("call");
  });
  expect([read, paths.length, paths[0]]).toEqual(["one\n", 2, to.path]);
  await to.close();
});

describe("a version", () => {
  test("keeps a field whatever its name", async () => {
    const to = await store();
    const mine: unknown = JSON.parse('{"__proto__":{"any":1},"toString":2}');
    const { version } = await to.put(call("one\n", { fields: { tool: "bash", mine } }));
    expect(JSON.stringify(version.fields.mine)).toBe('{"__proto__":{"any":1},"toString":2}');
  });

  test("is written once and read back in its documented shape", async () => {
    const to = await store();
    const fields = { tool: "bash", mine: { any: ["thing", 1, null] } };
    const first = await to.put(call("one\n", { fields, additional: { short_summary: "a one" } }));
    expect(first.written).toBe(true);
    expect(first.version).toEqual({
      id: "call",
      type: "toolcall",
      source: null,
      identityHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      txId: 1,
      systemTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      origin: { storeId: to.id, txId: 1, time: first.version.systemTime, machine: null, author: null },
      sourceHash: null,
      contentHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      fields,
      content: expect.stringMatching(/^[0-9a-f]{64}$/),
      itemCount: 0,
      additional: { short_summary: expect.stringMatching(/^[0-9a-f]{64}$/) },
      redacted: null,
      nicknames: [],
      reference: {
        id: "call",
        content_hash: first.version.contentHash,
        origin: { store_id: to.id, tx_id: 1, time: Date.parse(first.version.systemTime) },
      },
    });
    const again = await to.put(call("one\n", { fields, additional: { short_summary: "a one" } }));
    expect(again).toEqual({ written: false, version: first.version });
    expect(await to.get("call")).toEqual(first.version);
  });

  test("of a sourced object has its ID and source hash from these", async () => {
    const to = await store();
    const source = { type: "filesystem" as const, filesystemId: "fs", path: "/a.md" };
    const { version } = await to.put({ type: "file", source, content: "text" });
    expect(version.id).toBe(version.identityHash);
    expect(version).toMatchObject({ source, sourceHash: version.content });
    const deleted = await to.put({ type: "file", source, content: null });
    expect(deleted.version).toMatchObject({ id: version.id, content: null, sourceHash: null });
    expect(await to.content(version.id)).toBeNull();
  });

  test("that is expected is compared", async () => {
    const to = await store();
    const { version } = await to.put(call("one", { expected: 0 }));
    expect(await codeOf(() => to.put(call("two", { expected: 0 })))).toBe("CONFLICT");
    await to.put(call("two", { expected: version.txId }));
    expect(await codeOf(() => to.put(call("two", { expected: version.txId })))).toBe("CONFLICT");
    expect(await codeOf(() => to.put(call("three", { expected: version.txId })))).toBe("CONFLICT");
  });

  test("is chosen by number, step, time and name", async () => {
    const to = await store();
    const { version: first } = await to.put(call("one"));
    await to.put(call("two"));
    for (const at of [first.txId, `${first.txId}`, -1, "-1"]) {
      expect(await to.content("call", { at })).toBe("one");
    }
    expect(await to.content("call", { at: "latest" })).toBe("two");
    expect(await to.content("call@-1")).toBe("one");
    expect(await codeOf(() => to.get("call", { at: "2001-01-01" }))).toBe("NOT_FOUND");
    expect(await codeOf(() => to.get("call", { at: 1.5 }))).toBe("INVALID_ARGUMENT");
    expect(await codeOf(() => to.get("call@-1", { at: 1 }))).toBe("INVALID_ARGUMENT");
    expect((await to.history("call")).map((version) => version.txId)).toEqual([2, 1]);
  });
});

describe("a content", () => {
  test("is read whole, by lines, and by field", async () => {
    const to = await store();
    await to.put(call("a\r\nb\nc", { additional: { note: "n\n" } }));
    expect(await to.content("call")).toBe("a\r\nb\nc");
    expect(await to.content("call", { lines: "1-2" })).toBe("a\r\nb\n");
    expect(await to.content("call", { field: "note", lines: "1" })).toBe("n\n");
    expect(await codeOf(() => to.content("call", { lines: "9" }))).toBe("INVALID_ARGUMENT");
    const error = await rejection(() => to.content("call", { field: "other" }));
    expect(error.message).toBe("`field` is `other`; the additional contents of the version: `note`");
  });

  test("that is large comes back whole", async () => {
    const to = await store(join(temporaryFolder(), "s.sqlite"));
    const text = "é".repeat((isEverything ? 50 : 5) << 20);
    await to.put(call(text));
    expect((await to.content("call")) === text).toBe(true);
  });
});

test("items are read by position, as of any version", async () => {
  const to = await store();
  const of = await session({}, to);
  const messages = [user("Run it."), ...step(1, "done")];
  await of.transformContext(messages);
  await of.transformContext([...messages, user("Thanks.", 9)]);
  const all = await to.items("chat:s");
  expect(all.length).toBe(4);
  expect(await to.items("chat:s", { from: 1, to: 3 })).toEqual(all.slice(1, 3));
  expect(await to.items("chat:s", { at: -1 })).toEqual(all.slice(0, 3));
  expect(await to.items("call_1")).toEqual([]);
  const { content }: { content: ItemContent } = JSON.parse(all[2]);
  expect(await to.resolve(content)).toEqual(await to.get("call_1"));
  expect(await codeOf(() => to.resolve({ ...content, version: "0".repeat(64) }))).toBe("NOT_FOUND");
  expect(await codeOf(() => to.items("chat:s", { from: -1 }))).toBe("INVALID_ARGUMENT");
});

test("a reference resolves to the latest or the pinned version", async () => {
  const to = await store();
  const { version: first } = await to.put(call("one"));
  const { version: second } = await to.put(call("two"));
  expect(await to.resolve({ id: "call" })).toEqual(second);
  expect(await to.resolve(first.reference)).toEqual(first);
  const forged = { ...first.reference, content_hash: second.contentHash };
  const error = await rejection(() => to.resolve(forged));
  expect(error.code).toBe("HASH_MISMATCH");
  expect(error.message).toContain(first.contentHash);
  expect(error.message).toContain(second.contentHash);
  const elsewhere = { ...first.reference, origin: { ...first.reference.origin, store_id: "other" } };
  expect(await codeOf(() => to.resolve(elsewhere))).toBe("NOT_FOUND");
  expect(await codeOf(() => to.resolve(wrong("call")))).toBe("INVALID_ARGUMENT");
});

test("names are found, given and taken away", async () => {
  const folder = realpathSync(temporaryFolder());
  mkdirSync(join(folder, "sub"));
  writeFileSync(join(folder, "sub", "a.md"), "text");
  const to = await store();
  const { files } = await to.index(["sub"], { cwd: folder });
  expect(files.map(({ path, outcome, noContent }) => ({ path, outcome, noContent }))).toEqual([
    { path: join(folder, "sub", "a.md"), outcome: "created", noContent: null },
  ]);
  const [{ id }] = files;
  expect(await to.find("a.md", { cwd: join(folder, "sub") })).toBe(id);
  expect(await to.find("sub/a.md@1", { cwd: folder })).toBe(id);
  expect(await to.find(id.slice(0, 8))).toBe(id);
  expect(await to.name("sub/a.md", "entry", { cwd: folder })).toBe(id);
  expect(await to.find("entry")).toBe(id);
  expect((await to.get("entry")).nicknames).toEqual(["entry"]);
  expect(await to.unname("entry")).toBe(id);
  const error = await rejection(() => to.find("entry"));
  expect(error).toMatchObject({ code: "UNKNOWN_NAME", hint: expect.any(String) });
  expect(error.candidates).toBeUndefined();
  expect(await codeOf(() => to.find("a.md", { cwd: "sub" }))).toBe("INVALID_ARGUMENT");
  await to.put(call("x", { id: `${id.slice(0, 8)}-0` }));
  const ambiguous = await rejection(() => to.find(id.slice(0, 8)));
  expect(ambiguous.code).toBe("AMBIGUOUS_NAME");
  expect(ambiguous.candidates?.toSorted()).toEqual(
    [`${id} ${join(folder, "sub", "a.md")}`, `${id.slice(0, 8)}-0 toolcall`].toSorted(),
  );
});

test("objects are listed in pages", async () => {
  const to = await store();
  for (const id of ["c", "a", "b"]) {
    await to.put(call(id, { id }));
  }
  const ids = async (options?: object) => (await to.list("toolcall", options)).map((version) => version.id);
  expect(await ids()).toEqual(["a", "b", "c"]);
  expect(await ids({ after: "a", limit: 1 })).toEqual(["b"]);
  expect(await ids({ after: "c" })).toEqual([]);
  expect(await to.list("file")).toEqual([]);
  expect(await codeOf(() => to.list(wrong("folder")))).toBe("INVALID_ARGUMENT");
});

test("objects are queried and searched", async () => {
  const to = await store(join(temporaryFolder(), "s.sqlite"));
  await to.put(call("an élan vital", { id: "a", fields: { tool: "bash", size: 3 } }));
  await to.put(call("nothing", { id: "b", fields: { tool: "grep", size: 5 } }));
  const ids = async (query: string, options?: object) => (await to.query(query, options)).map((found) => found.id);
  expect(await ids("size > 3")).toEqual(["b"]);
  expect(await ids("tool = bash or tool = grep order by size desc", { limit: 1, type: "toolcall" })).toEqual(["b"]);
  expect(await ids("", { type: "file" })).toEqual([]);
  expect(await ids("", { at: 1 })).toEqual(["a"]);
  expect(await codeOf(() => to.query("size >"))).toBe("INVALID_ARGUMENT");
  const { hits } = await to.search("vital");
  expect(hits.map(({ id, lines }) => ({ id, lines }))).toEqual([
    { id: "a", lines: [{ line: 1, text: "an élan vital", matches: [[8, 13]] }] },
  ]);
  expect((await to.search("vital", { types: ["file"] })).hits).toEqual([]);
  expect(await codeOf(() => to.search(" "))).toBe("INVALID_ARGUMENT");
  expect(await codeOf(() => to.search("vital", wrong({ types: ["folder"] })))).toBe("INVALID_ARGUMENT");
});

test("sessions are listed, parted ones too", async () => {
  const path = join(temporaryFolder(), "s.sqlite");
  const [one, two] = [await store(path), await store(path)];
  const first = await session({}, one);
  await first.transformContext([user("Hello.")]);
  const second = await session({}, two);
  await second.transformContext([user("Hello."), ...step(1, "done")]);
  await first.transformContext([user("Hello."), ...step(2, "done")]);
  const found = await one.sessions();
  expect(found.map(({ parentId, origin, calls, state }) => ({ parentId, origin, calls, state }))).toEqual([
    { parentId: "session:s", origin: "parted", calls: 2, state: "active" },
    { parentId: null, origin: null, calls: 2, state: "active" },
  ]);
  expect(found[0].id).toBe("session:s+2");
});

test("indexing tells how far it is and what it could not take", async () => {
  const folder = realpathSync(temporaryFolder());
  for (let number = 0; number < 120; number++) {
    writeFileSync(join(folder, `${number}.md`), `${number}`);
  }
  const to = await store();
  const told: number[] = [];
  const report = await to.index([folder, join(folder, "none")], {}, (files) => told.push(files));
  expect(report.files.length).toBe(120);
  expect(report.failed).toEqual([{ path: join(folder, "none"), problem: "there is no such file or folder" }]);
  await expect.poll(() => told).toEqual([50, 100]);
  const options = { path: ":memory:", settings: { maxTextBytes: 2 } };
  const small = await openStore(options);
  const { files } = await small.index([join(folder, "111.md")]);
  expect(files[0].noContent).toBe("too_large");
  await small.close();
});

test("whole numbers cross as they are, however large", async () => {
  const to = await store();
  const numbers = [0, -1, 2 ** 31, 2 ** 32 + 1, Date.now(), Number.MAX_SAFE_INTEGER, -(2 ** 40), 1.5];
  const { version } = await to.put(call("x", { fields: { args: { numbers } } }));
  expect((await to.get(version.id)).fields.args).toEqual({ numbers });
});

test("two versions are compared", async () => {
  const to = await store();
  await to.put(call("one\n", { fields: { status: "ok" } }));
  await to.put(call("two\n", { fields: { status: "fail" } }));
  const found = await to.diff("call");
  expect(found).toMatchObject({ added: 1, removed: 1, from: { txId: 1 }, to: { txId: 2 } });
  expect(found.unified).toMatch(/^--- call\t@1 \S+\n\+\+\+ call\t@2 \S+\n@@ -1 \+1 @@\n-one\n\+two\n$/);
  expect(found.fields).toEqual([{ name: "status", before: "ok", after: "fail" }]);
  expect(await codeOf(() => to.diff("call", { from: "x" }))).toBe("INVALID_ARGUMENT");
});

test("a missing store is not created with `create: false`", async () => {
  const path = join(temporaryFolder(), "none.sqlite");
  expect(await codeOf(() => openStore({ path, create: false }))).toBe("STORE_UNAVAILABLE");
  expect(await storePath({ path })).toBe(path);
  expect(existsSync(path)).toBe(false);
});

describe("relations", () => {
  test("lead from one object to another and back", async () => {
    const to = await store();
    const { version } = await to.put({ type: "toolcall", id: "target", content: "text", fields: { tool: "bash" } });
    await to.put(call("x", { fields: { file_refs: ["target", version.reference, "gone"] } }));
    const links = await to.links("call");
    expect(links.map(({ kind, place, target }) => [kind, place.path, target.state, target.id, target.txId])).toEqual([
      ["dynamic", "file_refs[0]", "found", "target", 1],
      ["static", "file_refs[1]", "found", "target", 1],
      ["dynamic", "file_refs[2]", "missing", "gone", undefined],
    ]);
    expect(links[1]).toMatchObject({ from: "call", version: 2, written: "target", contentHash: version.contentHash });
    expect((await to.backlinks("target")).map((link) => link.place.path)).toEqual(["file_refs[0]", "file_refs[1]"]);
    expect(await to.backlinks("target", { at: 1 })).toEqual([]);
    const { nodes, more } = await to.expand({ roots: ["call"], content: true });
    expect(more).toBe(false);
    expect(nodes.map(({ id, state, depth, content }) => [id, state, depth, content])).toEqual([
      ["call", "found", 0, "x"],
      ["target", "found", 1, "text"],
      ["gone", "missing", 1, undefined],
    ]);
    expect(nodes[1]).toMatchObject({ parent: 0, viaKind: "dynamic", metadata: { id: "target", tool: "bash" } });
    expect(await codeOf(() => to.links("call", { at: 1 }))).toBe("NOT_FOUND");
  });

  test("lead on from one version of an object, too", async () => {
    const to = await store();
    const { version } = await to.put(call("one", { fields: { file_refs: ["gone"] } }));
    await to.put(call("two"));
    const { nodes } = await to.expand({ roots: [version.reference], content: true });
    expect(nodes.map(({ id, state, content }) => [id, state, content])).toEqual([
      ["call", "found", "one"],
      ["gone", "missing", undefined],
    ]);
    expect(await to.resolve(version.reference)).toMatchObject({ txId: version.txId });
  });

  test("of many objects are those of each", async () => {
    const to = await store();
    const { version } = await to.put({ type: "toolcall", id: "target", content: "text", fields: { tool: "bash" } });
    await to.put(call("x", { fields: { file_refs: ["target", version.reference, "gone"] } }));
    const names = ["target", "call", "target"];
    const each = names.map(async (name) => ({ links: await to.links(name), backlinks: await to.backlinks(name) }));
    const found = await to.relations(names);
    expect(found).toEqual(await Promise.all(each));
    expect(found.map(({ links, backlinks }) => [links.length, backlinks.length])).toEqual([
      [0, 2],
      [3, 0],
      [0, 2],
    ]);
    expect(await to.relations([])).toEqual([]);
    expect(await codeOf(() => to.relations(["target", "nobody"]))).toBe("UNKNOWN_NAME");
  });
});

const methods: [string, (of: Store) => Promise<unknown>][] = [
  ["put", (of) => of.put(wrong(undefined))],
  ["put with a wrong type", (of) => of.put(wrong({ type: "folder", id: "x" }))],
  ["put without ID", (of) => of.put({ type: "chat" })],
  ["put with wrong fields", (of) => of.put(call("x", { fields: [1] }))],
  ["put with a wrong source", (of) => of.put(wrong({ type: "file", source: { type: "filesystem" } }))],
  ["get", (of) => of.get(wrong(5))],
  ["get with wrong options", (of) => of.get("x", wrong("latest"))],
  ["content", (of) => of.content(wrong(null))],
  ["items", (of) => of.items(wrong([]))],
  ["history", (of) => of.history(wrong({}))],
  ["diff", (of) => of.diff(wrong(undefined))],
  ["find", (of) => of.find("")],
  ["name", (of) => of.name("x", wrong(undefined))],
  ["unname", (of) => of.unname(wrong(undefined))],
  ["resolve", (of) => of.resolve(wrong(undefined))],
  ["list", (of) => of.list(wrong(undefined))],
  ["links", (of) => of.links(wrong(5))],
  ["links at a step back", (of) => of.links("x", { at: -1 })],
  ["backlinks", (of) => of.backlinks(wrong(undefined))],
  ["relations", (of) => of.relations(wrong("x"))],
  ["expand", (of) => of.expand(wrong({ roots: 5 }))],
  ["expand with a wrong direction", (of) => of.expand({ roots: [], direction: wrong("up") })],
  ["expand with both content and values", (of) => of.expand({ roots: [], content: true, values: ["a"] })],
  ["index", (of) => of.index(wrong("path"))],
  ["index with a wrong listener", (of) => of.index([], {}, wrong("listener"))],
];

describe("wrong arguments", () => {
  test.each(methods)("of %s reject", async (_, attempt) => {
    expect(await codeOf(async () => attempt(await store()))).toBe("INVALID_ARGUMENT");
  });
});

test("a closed store rejects", async () => {
  const to = await store();
  await to.close();
  const attempts = [
    () => to.put(call("x")),
    () => to.get("x"),
    () => to.items("x"),
    () => to.history("x"),
    () => to.find("x"),
    () => to.list("file"),
    () => to.sessions(),
    () => to.maintenance.stats(),
    () => to.links("x"),
    () => to.relations(["x"]),
    () => to.expand({ roots: [] }),
    () => to.index([temporaryFolder()]),
  ];
  for (const attempt of attempts) {
    expect(await codeOf(attempt)).toBe("CLOSED");
  }
});
