// The commands that read objects, as processes of their own, on real stores: show, names, lists, search, diff.
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Difference, ObjectLink, SearchResults, SessionDocument, SessionInfo, Version } from "../index.js";
import { openSession, openStore } from "../index.js";
import { pinnedNode } from "../scripts/setup.js";
import { desk, program, withSession, withTwoVersions } from "./command.ts";
import { patient } from "./sessions.ts";

describe("show", () => {
  test("prints the bytes of a content unchanged and nothing more", () => {
    const at = desk();
    const text = "\ufeffa\r\nb\u0000\u001b[31m\n👍 é\u2028no end";
    at.write("odd.txt", text);
    at.run("index", "odd.txt");
    const options = { cwd: at.folder, env: at.env } as const;
    const { stdout } = spawnSync(pinnedNode(), [program, "show", "odd.txt"], options);
    expect(stdout).toEqual(Buffer.from(text));
  });

  test("prints versions by transaction, step, time and name", () => {
    const at = withTwoVersions();
    const old = "one\ntwo\n";
    const now = "one\n2\nthree\n";
    const [latest, first] = at.json<{ versions: Version[] }>("history", "a.md").versions;
    expect(at.run("show", "a.md").stdout).toBe(now);
    for (const at_ of [`${first.txId}`, "-1", "@-1", first.systemTime]) {
      expect(at.run("show", "a.md", "--at", at_).stdout).toBe(old);
    }
    expect(at.run("show", "a.md", "--at", latest.systemTime).stdout).toBe(now);
    expect(at.run("show", "a.md@-1").stdout).toBe(old);
    expect(at.run("show", `a.md@${first.txId}`).stdout).toBe(old);
    expect(at.run("show", join(at.folder, "a.md")).stdout).toBe(now);
    expect(at.run("show", latest.id).stdout).toBe(now);
    expect(at.run("show", latest.id.slice(0, 8)).stdout).toBe(now);
    expect(at.failure("show", "a.md", "--at", "2001-01-01")).toMatchObject({ status: 3, code: "NOT_FOUND" });
    expect(at.failure("show", "a.md", "--at", "soon")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
  });

  test("prints all of an output that its tool cut", async () => {
    const at = desk();
    const lines = Array.from({ length: 300 }, (_, n) => `line ${n + 1} of the build log`);
    at.write("whole.log", `${lines.join("\n")}\n`);
    const store = await openStore({ path: at.store });
    const session = await openSession(store, { harness: "test", sessionId: "s", cwd: at.folder, settings: patient });
    const shown = `${lines.slice(200).join("\n")}\n\n[Showing lines 201-300 of 300. Full output: /tmp/x]`;
    await session.transformContext([
      { role: "user", content: "Build it." },
      {
        role: "assistant",
        content: [{ type: "toolCall", id: "call_1", name: "bash", arguments: { command: "make" } }],
      },
      {
        role: "toolResult",
        toolCallId: "call_1",
        toolName: "bash",
        isError: false,
        content: [{ type: "text", text: shown }],
        details: { fullOutputPath: join(at.folder, "whole.log") },
      },
    ]);
    await session.close();
    await store.close();
    expect(at.run("show", "call_1").stdout).toBe(`${lines.join("\n")}\n`);
    expect(at.run("show", "call_1", "--lines", "7").stdout).toBe(`${lines[6]}\n`);
    expect(at.run("show", "call_1", "--field", "content").stdout).toBe(shown);
  });

  test("prints lines with their ends", () => {
    const at = withTwoVersions();
    expect(at.run("show", "a.md", "--lines", "2-3").stdout).toBe("2\nthree\n");
    expect(at.run("show", "a.md", "--lines", "1,3").stdout).toBe("one\nthree\n");
    expect(at.run("show", "a.md", "--lines", "2-99").stdout).toBe("2\nthree\n");
    expect(at.run("show", "a.md", "--lines", "-1").stdout).toBe("three\n");
    for (const [lines, text] of [
      ["9-3", "three\n"],
      ["2-", "2\nthree\n"],
      ["-1", "three\n"],
      ["L1-L2", "one\n2\n"],
      ["2:1-1", "2\n"],
    ]) {
      expect(at.run("show", "a.md", `--lines=${lines}`).stdout).toBe(text);
    }
    for (const lines of ["99", "x"]) {
      expect(at.failure("show", "a.md", "--lines", lines)).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
    }
  });

  test("takes names with lines as the model's lines print them", () => {
    const at = withTwoVersions();
    expect(at.run("show", "a.md:2-3").stdout).toBe("2\nthree\n");
    expect(at.run("show", "a.md@-1:2").stdout).toBe("two\n");
    expect(at.run("show", "`a.md`#L1").stdout).toBe("one\n");
    at.write("a.md:2-3", "own\n");
    at.run("index", "a.md:2-3");
    expect(at.run("show", "a.md:2-3").stdout).toBe("own\n");
    expect(at.failure("history", "a.md:1")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
  });

  test("prints what is known of a version, for people and as JSON", () => {
    const at = withTwoVersions();
    const { stdout } = at.run("show", "a.md@-1", "--metadata");
    expect(stdout).toMatch(/^what +.*a\.md$/m);
    expect(stdout).toMatch(/^tx +1$/m);
    expect(stdout).toMatch(/^field char_count +8$/m);
    const version = at.json<Version>("show", "a.md", "--metadata");
    expect(version).toMatchObject({ type: "file", txId: 2, itemCount: 0, nicknames: [], redacted: null });
    expect(version.source).toMatchObject({ type: "filesystem", path: join(at.folder, "a.md") });
    expect(version.reference).toEqual({
      id: version.id,
      content_hash: version.contentHash,
      origin: { store_id: version.origin.storeId, tx_id: 2, time: Date.parse(version.origin.time) },
    });
    expect(at.json<{ text: string }>("show", "a.md").text).toBe("one\n2\nthree\n");
  });

  test("says why there is no content", () => {
    const at = desk();
    at.write("a.md", "one");
    at.write("b.bin", Buffer.from([0xff]));
    at.run("index", ".");
    rmSync(join(at.folder, "a.md"));
    at.run("index", ".");
    expect(at.failure("show", "b.bin")).toMatchObject({ status: 1, code: "NO_CONTENT" });
    expect(at.run("show", "a.md").stderr).toContain("has no content (deleted)\nhint: ");
    expect(at.run("show", "a.md@-1").stdout).toBe("one");
  });

  test("prints an additional content", async () => {
    const at = desk();
    const store = await openStore({ path: at.store });
    await store.put({ type: "toolcall", id: "call", content: "long\n", additional: { short_summary: "short\n" } });
    await store.close();
    expect(at.run("show", "call").stdout).toBe("long\n");
    expect(at.run("show", "call", "--field", "short_summary").stdout).toBe("short\n");
    expect(at.failure("show", "call", "--field", "other")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
  });

  test("prints a chat as a text, each message behind its line", async () => {
    const at = desk();
    await withSession(at);
    const { items } = at.json<{ items: { message: { role: string } }[] }>("show", "chat:s");
    expect(items.map(({ message }) => message.role)).toEqual(["user", "assistant", "toolResult"]);
    const { stdout } = at.run("show", "chat:s");
    expect(stdout).toMatch(
      /^--- user, turn 1\n.+\n--- tool call call_1 · bash\ncommand: .+\n--- tool result call_1 · bash · ok · call_1\n$/,
    );
    const parts = stdout.split(/^(?=--- )/m);
    expect(parts.length).toBe(3);
    for (const [name, first, last] of [
      ["chat:s:2", 1, 2],
      ["chat:s:2-3", 1, 3],
      ["chat:s#L1-L2", 0, 2],
      ["chat:s:-2", 1, 3],
    ] as const) {
      expect(at.run("show", name).stdout, name).toBe(parts.slice(first, last).join(""));
    }
    expect(at.run("show", "chat:s", "--lines", "1,3").stdout).toBe(`${parts[0]}${parts[2]}`);
    const events = at.run("show", "session:s").stdout.split("\n");
    expect(at.run("show", "session:s:1").stdout).toBe(`${events[0]}\n`);
    expect(at.json<{ items: unknown[] }>("show", "chat:s:2").items).toEqual([items[1]]);
    expect(at.failure("show", "chat:s:4")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
    expect(at.run("show", "call_1").stdout).toBe("done\n");
  });

  test("reads the turns and toolcalls of a chat as fields", async () => {
    const at = desk();
    await withSession(at);
    expect(JSON.parse(at.run("show", "chat:s", "--field", "toolcall_refs").stdout)).toEqual(["call_1"]);
    const [turn] = JSON.parse(at.run("show", "chat:s", "--field", "turns").stdout);
    expect(turn).toMatchObject({ turn: 1, assistant: [{ type: "toolCall", id: "call_1" }], toolcall_ids: ["call_1"] });
    expect(at.run("expand", "chat:s", "--select", "turns[*].toolcall_ids[*]", "--depth", "0").stdout).toContain(
      "call_1",
    );
  });

  test("compares the system prompts of two sessions", async () => {
    const at = desk();
    const store = await openStore({ path: at.store });
    for (const [id, content] of [
      ["system_prompt:a", "You help.\nBe short.\n"],
      ["system_prompt:b", "You help.\nBe thorough.\n"],
    ]) {
      await store.put({ type: "system_prompt", id, content });
    }
    await store.close();
    const { stdout } = at.run("diff", "system_prompt:a", "system_prompt:b");
    expect(stdout).toMatch(/^--- system_prompt:a\t.*\n\+\+\+ system_prompt:b\t/);
    expect(stdout).toContain("\n-Be short.\n+Be thorough.\n");
    expect(at.json<Difference>("diff", "system_prompt:a", "system_prompt:b").to.id).toBe("system_prompt:b");
    expect(at.failure("diff", "system_prompt:a", "nothing").message).toBe("nothing is named `nothing`");
  });

  test("a person names and describes an output by its handle", async () => {
    const at = desk();
    await withSession(at);
    expect(at.run("name", "t1", "the-run", "--session", "s").stdout).toBe("call_1 is named the-run\n");
    expect(at.run("show", "the-run").stdout).toBe("done\n");
    expect(
      at.run(
        "describe",
        "t1",
        "--session",
        "s",
        "--summary",
        "the first\nrun",
        "--field",
        "owner=ann",
        "--field",
        "rank=3",
      ).status,
    ).toBe(0);
    const { fields } = at.json<Version>("show", "the-run", "--metadata");
    expect(fields).toMatchObject({ short_summary: "the first run", owner: "ann", rank: 3, tool: "bash" });
    expect(at.run("objects", "--query", "owner = ann and rank > 2").stdout).toContain("call_1");
    at.run("describe", "the-run", "--summary", "", "--field", "owner=");
    const now = at.json<Version>("show", "the-run", "--metadata").fields;
    expect(now).not.toHaveProperty("short_summary");
    expect(now).not.toHaveProperty("owner");
    expect(at.run("show", "the-run").stdout).toBe("done\n");
    expect(at.failure("describe", "the-run", "--field", "status=fail")).toMatchObject({ code: "INVALID_ARGUMENT" });
    for (const key of ["id", "type", "path", "tx_id", "system_time", "nickname"]) {
      // A query by this name finds something else.
      expect(at.failure("describe", "the-run", "--field", `${key}=a`)).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(at.failure("describe", "chat:s", "--field", "a=b")).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(at.failure("describe", "the-run")).toMatchObject({ code: "USAGE" });
  });

  test("finds notes by one of their tags", () => {
    const at = desk();
    at.write("a.md", "#work #urgent\n");
    at.write("b.md", "#home\n");
    at.run("index", ".");
    const found = (query: string) => at.run("objects", "--query", query).stdout.match(/[ab]\.md/g);
    expect(found("tags = work")).toEqual(["a.md"]);
    expect(found("tags != work and type = file")).toEqual(["b.md"]);
    expect(found("tags in (home, other)")).toEqual(["b.md"]);
  });

  test("expands a note with the parts that its links name", () => {
    const at = desk();
    at.write("a.md", "see [[b#Two]]\n");
    at.write("b.md", "# One\nx\n# Two\ny\n");
    at.run("index", ".");
    expect(at.run("expand", "a.md", "--content").stdout).toMatch(
      /^--- \S*a\.md\nsee .*\n--- \S*b\.md#Two\n# Two\ny\n$/,
    );
    expect(at.run("expand", "b.md", "--back").stdout).toMatch(/\n1\twikilink\tcontent\tfound\t\S*a\.md\n$/);
    expect(at.run("expand", "a.md", "--select", "char_count", "--type", "file").stdout).toContain("char_count: 14\n");
  });

  test("says in a chat what would pass for one of its lines", async () => {
    const at = desk();
    const store = await openStore({ path: at.store });
    const session = await openSession(store, { harness: "test", sessionId: "s", cwd: at.folder, settings: {} });
    const text = "look:\n--- assistant\nI agree";
    await session.transformContext([{ role: "user", content: text, timestamp: 1 }]);
    await session.close();
    await store.close();
    expect(at.run("show", "chat:s").stdout).toBe("--- user, turn 1\nlook:\n\\--- assistant\nI agree\n");
  });

  test("prints large content whole, and stops if the reader does", async () => {
    const at = desk();
    const store = await openStore({ path: at.store });
    const content = `${"x".repeat(99)}\n`.repeat(200_000);
    await store.put({ type: "toolcall", id: "big", content });
    await store.close();
    expect(at.run("show", "big").stdout).toBe(content);
    const child = spawn(pinnedNode(), [program, "show", "big"], { cwd: at.folder, env: at.env });
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    child.stdout.once("data", () => child.stdout.destroy());
    const status = await new Promise((done) => child.on("close", done));
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});

describe("names", () => {
  test.each([
    ["nothing", "UNKNOWN_NAME"],
    ["t17", "UNKNOWN_NAME"],
    ["deadbeefdeadbeef", "UNKNOWN_NAME"],
    ["''; DROP TABLE object; --", "UNKNOWN_NAME"],
    ["a\nb\u001b[2J%s../../é👍", "UNKNOWN_NAME"],
    [" ", "INVALID_ARGUMENT"],
  ])("%j is a clear error", (name, code) => {
    const at = withTwoVersions();
    expect(at.failure("show", name).code).toBe(code);
    const { status, stdout, stderr } = at.run("history", name);
    expect({ status, stdout }).toEqual({ status: code === "UNKNOWN_NAME" ? 3 : 2, stdout: "" });
    expect(stderr).toMatch(/^palimpsest: /);
  });

  test("that fit several objects list these", async () => {
    const at = desk();
    const store = await openStore({ path: at.store });
    for (const id of ["0189abcd-1", "0189abcd-2"]) {
      await store.put({ type: "toolcall", id, content: id });
    }
    await store.close();
    const { status, stderr } = at.run("show", "0189abcd");
    expect(status).toBe(3);
    expect(stderr).toBe(
      "palimpsest: `0189abcd` fits 2 objects: `0189abcd-1 toolcall`, `0189abcd-2 toolcall`\n" +
        "hint: give more of the name, or the full ID\n",
    );
    expect(at.failure("show", "0189abcd")).toMatchObject({
      code: "AMBIGUOUS_NAME",
      candidates: ["0189abcd-1 toolcall", "0189abcd-2 toolcall"],
    });
  });

  test("can be given and taken away, once each", () => {
    const at = withTwoVersions();
    at.write("b.md", "b");
    at.run("index", "b.md");
    const { id } = at.json<Version>("show", "a.md", "--metadata");
    expect(at.run("name", "a.md", "entry").stdout).toBe(`${id} is named entry\n`);
    expect(at.run("show", "entry@-1").stdout).toBe("one\ntwo\n");
    expect(at.json<Version>("show", "entry", "--metadata").nicknames).toEqual(["entry"]);
    expect(at.failure("name", "b.md", "entry")).toMatchObject({ status: 2, code: "INVALID_NICKNAME" });
    expect(at.failure("name", "b.md", "t17")).toMatchObject({ status: 2, code: "INVALID_NICKNAME" });
    expect(at.failure("name", "b.md", "latest")).toMatchObject({ status: 2, code: "INVALID_NICKNAME" });
    expect(at.json("name", "--remove", "entry")).toEqual({ id, nickname: "entry", removed: true });
    expect(at.failure("name", "--remove", "entry")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
  });
});

describe("lists", () => {
  test("of versions have the newest first", () => {
    const at = withTwoVersions();
    const { id, versions } = at.json<{ id: string; versions: Version[] }>("history", "a.md");
    expect(versions.map((version) => [version.id, version.txId])).toEqual([
      [id, 2],
      [id, 1],
    ]);
    const rows = at.run("history", "a.md").stdout.trimEnd().split("\n");
    expect(rows.map((row) => row.split("\t").length)).toEqual([4, 4]);
    expect(rows[0].split("\t")).toEqual(["2", versions[0].systemTime, versions[0].contentHash, "12 chars"]);
  });

  test("of links name what they lead to, and what leads there", () => {
    const at = desk();
    at.write("a.md", "# A\n[[b#B]] [[none]]\n#tag");
    at.write("b.md", "# B");
    at.run("index", "a.md", "b.md");
    const rows = at.run("links", "a.md").stdout.trimEnd().split("\n");
    expect(rows.map((row) => row.split("\t"))).toEqual([
      ["wikilink", "content#A", "2", "b#B", join(at.folder, "b.md")],
      ["wikilink", "content#A", "2", "none", "unresolved"],
      ["tag", "content#A", "3", "tag"],
    ]);
    const { id, links } = at.json<{ id: string; links: ObjectLink[] }>("links", "b.md", "--back", "--part", "b");
    expect(links).toMatchObject([{ target: { id, state: "found" }, part: "B", place: { line: 2 } }]);
    expect(at.run("links", "a.md", "--part", "A").status).toBe(2);
    const message = (...args: string[]) => at.failure(...args).message;
    expect(message("links", "b.md", "--back", "--part", "no")).toBe("`--part` `no` is not a part of `b.md`");
    expect(message("expand", "a.md", "--type", "no")).toMatch(/^`--type` must be of `file`, .*, is `no`$/);
    expect(message("expand", "a.md", "--kind", "no")).toMatch(/^`--kind` must be of .*`wikilink`, .*, is `no`$/);
    expect(message("backup", "/dev/null")).toMatch(/^`FILE` must be/);
    expect(message("memory", "remember", "no", "x")).toMatch(/^`SCOPE` must be/);
    expect(message("sessions", "--store=")).toBe("`--store` is empty");
  });

  test("of links resolve within the indexed folder or its vault", () => {
    const at = desk();
    at.write("notes/plan.md", "See [[deep]] and [[sub/other]].");
    at.write("notes/sub/deep.md", "Back to [[plan]].");
    at.write("notes/sub/other.md", "[[../plan]]");
    at.write("elsewhere/plan.md", "not this one");
    const targets = (name: string) =>
      at.json<{ links: ObjectLink[] }>("links", name).links.map(({ target }) => target.path ?? target.state);
    at.run("index", "notes/plan.md", "notes/sub/deep.md", "notes/sub/other.md");
    expect(targets("notes/sub/deep.md")).toEqual(["unresolved"]);
    at.run("index", "notes", "elsewhere");
    const path = (name: string) => join(at.folder, name);
    expect(targets("notes/plan.md")).toEqual([path("notes/sub/deep.md"), path("notes/sub/other.md")]);
    expect(targets("notes/sub/deep.md")).toEqual([path("notes/plan.md")]);
    // A part of it that is indexed again is no vault of its own.
    at.run("index", "notes/sub");
    expect(targets("notes/sub/deep.md")).toEqual([path("notes/plan.md")]);
    at.write("notes/sub/.obsidian/app.json", "{}");
    expect(targets("notes/sub/deep.md")).toEqual(["unresolved"]);
  });

  test("of sessions show how each began and how many calls it made", async () => {
    const at = desk();
    await withSession(at);
    await withSession(at, "fork", "s");
    const { sessions } = at.json<{ sessions: SessionInfo[] }>("sessions");
    expect(sessions.map((found) => [found.id, found.state, found.calls, found.parentId, found.origin])).toEqual([
      ["session:fork", "paused", 4, "session:s", "forked"],
      ["session:s", "paused", 2, null, null],
    ]);
    expect(sessions[1]).toMatchObject({ harness: "test", hostSessionId: "s", cwd: at.folder, chatId: "chat:s" });
    expect(Date.parse(sessions[0].started)).toBeGreaterThanOrEqual(Date.parse(sessions[1].updated));
    const rows = at.run("sessions").stdout.trimEnd().split("\n");
    expect(rows[0]).toContain("forked from session:s");
  });

  test("of sessions have titles and a limit, and skip empty ones", async () => {
    const at = desk();
    await withSession(at, "first");
    await withSession(at, "gone");
    await withSession(at, "second");
    const store = await openStore({ path: at.store });
    await (await openSession(store, { harness: "test", sessionId: "idle", cwd: at.folder, settings: patient })).close();
    await store.close();
    expect(at.run("forget", "gone", "--yes").status).toBe(0);
    const list = (...args: string[]) => at.json<{ sessions: SessionInfo[] }>("sessions", ...args).sessions;
    expect(list().map(({ id, title }) => [id, title])).toEqual([
      ["session:second", "Run it."],
      ["session:first", "Run it."],
    ]);
    expect(list("--limit", "1").map(({ id }) => id)).toEqual(["session:second"]);
    expect(list("--limit", "0")).toEqual([]);
    expect(at.run("sessions").stdout.split("\n")[0].split("\t").slice(0, 6)).toEqual([
      "session:second",
      "2",
      list()[0].updated,
      "Run it.",
      at.folder,
      "paused",
    ]);
    expect(at.run("context", "latest").stdout).toContain("2 of session:second\n");
  });

  test("of objects can be narrowed", async () => {
    const at = withTwoVersions();
    await withSession(at);
    const list = (...args: string[]) => at.json<{ objects: Version[] }>("objects", ...args).objects;
    expect(
      list()
        .map((version) => version.type)
        .toSorted(),
    ).toEqual(["chat", "file", "session", "toolcall"]);
    expect(list("--type", "file").length).toBe(1);
    expect(list("--limit", "2").length).toBe(2);
    expect(list("--limit", "0")).toEqual([]);
    expect(at.failure("objects", "--type", "folder")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
    const query = (text: string, ...args: string[]) => list("--query", text, ...args).map((version) => version.id);
    expect(query("tool = bash or type = chat")).toEqual(["call_1", "chat:s"]);
    expect(query("tool = bash or type = chat", "--type", "toolcall")).toEqual(["call_1"]);
    expect(query("order by type desc limit 3", "--limit", "2")).toEqual(["call_1", "session:s"]);
    expect(query("type = file", "--at", "1").length).toBe(1);
    expect(at.failure("objects", "--query", "tool =")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
    expect(at.failure("objects", "--query", "colour = red")).toMatchObject({ status: 2, code: "UNKNOWN_FIELD" });
    const row = at.run("objects", "--type", "toolcall").stdout.split("\t");
    expect(row[0]).toBe("call_1");
    expect(row[5]).toBe("bash run 1\n");
  });

  test("come page by page, whole and the newest first", () => {
    const at = desk();
    for (let number = 0; number < 1_100; number++) {
      at.write(`many/${number}.md`, `# ${number}\n`);
    }
    at.run("index", "many");
    at.write("many/7.md", "# seven\n");
    at.run("index", "many/7.md");
    const list = (...args: string[]) => at.json<{ objects: Version[] }>("objects", ...args).objects.map(({ id }) => id);
    const all = list();
    expect(all.length).toBe(1_100);
    expect(list("--type", "file", "--query", "order by tx_id desc")).toEqual(all);
    expect(at.run("objects", "--limit", "1").stdout).toContain("many/7.md");
    expect(new Set(all).size).toBe(1_100);
    expect(list("--limit", "1050")).toEqual(all.slice(0, 1_050));
    expect(list("--query", "type = file")).toEqual(all);
    expect(list("--query", "order by id desc limit 3")).toEqual(all.toSorted().slice(-3).reverse());
    expect(at.run("objects").stdout.split("\n").length).toBe(1_101);
  });

  test("are empty on an empty store, in both forms", async () => {
    const at = desk();
    await (await openStore({ path: at.store })).close();
    expect(at.run("sessions")).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(at.json("sessions")).toEqual({ sessions: [] });
    expect(at.json("objects")).toEqual({ objects: [] });
    expect(at.json("stats")).toMatchObject({ objects: {}, versions: 0, path: at.store });
  });
});

describe("a name that means nothing", () => {
  test("is answered with what can be done on the command line", async () => {
    const at = withTwoVersions();
    await withSession(at);
    expect(at.failure("show", "b.md").hint).toContain("`palimpsest objects` lists all objects");
    expect(at.failure("show", "t1").hint).toContain("name that with `--session`");
    expect(at.failure("forget", "t1").hint).toContain("handles exist only inside a session");
    expect(at.failure("ledger", "nobody").hint).toBe("`palimpsest sessions` lists the sessions");
    expect(at.failure("objects", "--at", "yesterday").message).toMatch(/^`--at` is `yesterday`; /);
  });
});

describe("a session", () => {
  const uuid = "0189abcd-1234-7abc-8def-0123456789ab";

  test("is shown with what it knew, now and earlier", async () => {
    const at = desk();
    await withSession(at);
    const { document, txId } = at.json<Version & { document: SessionDocument }>("show", "session:s", "--metadata");
    const index = document.index.map(({ handle, type, id, tool }) => ({ handle, type, id, tool }));
    expect(document).toMatchObject({ id: "session:s", txId, chatId: "chat:s", branchLeaf: 2, epoch: 0 });
    expect(index).toContainEqual({ handle: "t1", type: "toolcall", id: document.toolcallRefs[0], tool: "bash" });
    expect(document.pool).toEqual(document.index.map(({ handle }) => handle));
    expect(document.active).toContain("t1");
    const lines = at.run("show", "session:s", "--metadata").stdout.split("\n");
    expect(lines).toContainEqual(expect.stringMatching(/^toolcall_refs +call_1$/));
    expect(lines).toContain(`t1\ttoolcall\tpool,active\t${document.toolcallRefs[0]}\tbash`);
    // At its first call there was nothing but what the person said.
    const { versions } = at.json<{ versions: Version[] }>("history", "session:s");
    const first = String(versions.at(-1)?.txId);
    const before = at.json<{ document: SessionDocument }>("show", "session:s", "--metadata", "--at", first);
    expect(before.document).toMatchObject({ calls: 1, branchLeaf: 0, index: [], toolcallRefs: [] });
  });

  test("can be named by a prefix of its ID or by `latest`", async () => {
    const at = desk();
    await withSession(at, uuid);
    await withSession(at, "0189abce-1234-7abc-8def-0123456789ab");
    const says = (command: string, name: string) => {
      const { status, stderr } = at.run(command, name);
      expect({ name, command, status, stderr }).toEqual({ name, command, status: 0, stderr: "" });
    };
    // Each name and each command, since all commands find a name in one way.
    for (const name of ["0189abcd-1234", "session:0189abcd", `session:${uuid}`, uuid]) {
      says("context", name);
    }
    const name = "0189abcd";
    for (const command of ["show", "history", "diff", "links", "context", "ledger"]) {
      says(command, name);
    }
    expect(at.json("export", "one.jsonl", "--object", name)).toMatchObject({ objects: 1 });
    expect(at.json("export", "one.jsonl", "--session", name)).toMatchObject({ objects: 3 });
    expect(at.json("forget", name)).toMatchObject({ dryRun: true });
    expect(at.json<SearchResults>("search", "done", "--session", name).total).toBeGreaterThan(0);
    expect(at.run("export", "one.jsonl", "--session", "latest").status).toBe(0);
    expect(readFileSync(join(at.folder, "one.jsonl"), "utf8")).not.toContain(uuid);
    expect(at.json("forget", "latest")).toMatchObject({ dryRun: true, objects: { length: 3 } });
    expect(at.json<Version>("show", "latest@-1", "--metadata").id).toContain("0189abce");
    // Too little of an ID to be taken for one where other objects are named.
    expect(at.failure("forget", "0189")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
    expect(at.failure("context", "0189")).toMatchObject({ status: 3, code: "AMBIGUOUS_NAME" });
  });
});

test("a handle names an object of the session that is given", async () => {
  const at = desk();
  await withSession(at);
  expect(at.run("show", "t1", "--session", "latest").stdout).toBe("done\n");
  expect(at.json<{ id: string }>("history", "t1", "--session", "s").id).toBe("call_1");
  expect(at.json<{ id: string }>("links", "t1", "--session", "s").id).toBe("call_1");
  expect(at.failure("show", "t1@-1", "--session", "s")).toMatchObject({
    message: "`t1` has no version 1 before the latest",
    hint: "`palimpsest history t1 --session s` lists its versions",
  });
  expect(at.failure("show", "t2", "--session", "s")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
  expect(at.failure("show", "t1", "--session", "nobody")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
  expect(at.failure("diff", "call_1", "--session", "s")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
  expect(at.failure("show", "t2", "--session", "s").hint).toContain("the handles of one");
});

test("an object is taken out of a session's pool and brought back", async () => {
  const at = desk();
  await withSession(at);
  const sets = async () => {
    const store = await openStore({ path: at.store });
    const session = await openSession(store, { harness: "test", sessionId: "s", cwd: at.folder, settings: patient });
    const found = await session.sets();
    await session.close();
    await store.close();
    return { index: found.index.map(({ handle }) => handle), pool: found.pool };
  };
  expect(await sets()).toEqual({ index: ["t1"], pool: ["t1"] });
  const { status, stdout } = at.run("pool", "latest", "t1", "--out");
  expect([status, stdout]).toEqual([
    0,
    "done: t1 is not listed any more; deactivate lists it again, activate shows it\n",
  ]);
  expect(await sets()).toEqual({ index: ["t1"], pool: [] });
  expect(at.json("pool", "s", "call_1", "--in")).toEqual({ id: "session:s", name: "call_1", out: false });
  expect(await sets()).toEqual({ index: ["t1"], pool: ["t1"] });
  expect(at.failure("pool", "s", "t1")).toMatchObject({ status: 2, code: "USAGE" });
  expect(at.failure("pool", "s", "t1", "--in", "--out")).toMatchObject({ status: 2, code: "USAGE" });
  expect(at.failure("pool", "s", "t9", "--out")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
  const store = await openStore({ path: at.store });
  const session = await openSession(store, { harness: "test", sessionId: "s", cwd: at.folder, settings: patient });
  await session.leavePool("t1");
  expect(at.failure("pool", "s", "t1", "--in")).toMatchObject({ status: 1, code: "IN_USE" });
  expect((await session.sets()).pool).toEqual([]);
  await session.enterPool("t1");
  expect((await session.sets()).pool).toEqual(["t1"]);
  await session.close();
  await store.close();
});

test("`latest` never means an imported session", async () => {
  const at = desk();
  await withSession({ ...at, store: join(at.folder, "other.sqlite") }, "theirs");
  await withSession(at, "ours");
  expect(at.run("export", "all.jsonl", "--store", "other.sqlite").status).toBe(0);
  expect(at.run("import", "all.jsonl").status).toBe(0);
  expect(at.run("context", "latest").stdout).toContain("session:ours");
  expect(at.run("export", "one.jsonl", "--session", "latest").status).toBe(0);
  expect(readFileSync(join(at.folder, "one.jsonl"), "utf8")).not.toContain("theirs");
});

test("an imported session was last written where it comes from", async () => {
  const at = desk();
  await withSession(at);
  const [own] = at.json<{ sessions: SessionInfo[] }>("sessions").sessions;
  expect(at.run("export", "all.jsonl").status).toBe(0);
  expect(at.run("import", "all.jsonl", "--store", "other.sqlite").status).toBe(0);
  const [imported] = at.json<{ sessions: SessionInfo[] }>("sessions", "--store", "other.sqlite").sessions;
  expect([imported.id, imported.updated]).toEqual([own.id, own.updated]);
});

describe("search", () => {
  test("finds text with its lines, in old versions if asked", async () => {
    const at = withTwoVersions();
    await withSession(at);
    const { id } = at.json<Version>("show", "a.md", "--metadata");
    expect(at.run("search", "three").stdout).toBe(`${id}@2\t${at.folder}/a.md\tcontent\t3\tthree\n`);
    const found = at.json<SearchResults>("search", "three");
    expect(found).toMatchObject({ total: 1, complete: true, unindexed: 0 });
    expect(found.hits[0]).toMatchObject({ id, type: "file", txId: 2, part: "version", item: null, latest: true });
    expect(found.hits[0].lines).toEqual([{ line: 3, text: "three", matches: [[0, 5]] }]);
    const hits = (...args: string[]) => at.json<SearchResults>("search", ...args).hits;
    expect(hits("two")).toEqual([]);
    expect(hits("two", "--all-versions").map((hit) => [hit.txId, hit.latest])).toEqual([[1, false]]);
    expect(hits("done", "--session", "session:s").map((hit) => hit.id)).toContain("call_1");
    expect(hits("one", "--type", "toolcall")).toEqual([]);
    expect(hits("one", "--path", ".").length).toBe(1);
    expect(hits("one", "--path", "elsewhere")).toEqual([]);
    expect(hits("one", "three", "done", "--limit", "1").length).toBe(1);
  });

  test("refuses what holds no word", () => {
    const at = withTwoVersions();
    for (const text of ["", "  ", "-one", "…"]) {
      expect(at.failure("search", "--", text)).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
    }
    expect(at.failure("search", "one", "--limit", "0")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
    expect(at.run("search", "nowhere")).toEqual({ status: 0, stdout: "", stderr: "" });
  });
});

describe("diff", () => {
  test("compares any two versions", () => {
    const at = withTwoVersions();
    const { id } = at.json<Version>("show", "a.md", "--metadata");
    const [now, before] = at.json<{ versions: Version[] }>("history", "a.md").versions;
    const path = join(at.folder, "a.md");
    expect(id).toBe(now.id);
    const unified = `--- ${path}\t@1 ${before.systemTime}\n+++ ${path}\t@2 ${now.systemTime}\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n`;
    expect(at.run("diff", "a.md").stdout).toBe(unified);
    expect(at.run("diff", "a.md", "-1").stdout).toBe(unified);
    expect(at.run("diff", "a.md", "1", "latest").stdout).toBe(unified);
    const back = at.json<Difference>("diff", "a.md", "latest", "1");
    expect(back).toMatchObject({ added: 1, removed: 2, from: { txId: 2 }, to: { txId: 1 } });
    expect(back.fields).toEqual([{ name: "char_count", before: 12, after: 8 }]);
    expect(at.run("diff", "a.md", "2", "2").stdout).toBe("");
    at.write("2026-11-28.md", "one\n");
    at.run("index", "2026-11-28.md");
    expect(at.run("diff", "a.md", "2026-11-28.md").stdout).toContain("\n-2\n-three\n");
    expect(at.run("diff", "a.md", "--context", "0").stdout).toContain("@@ -2 +2,2 @@\n-two\n+2\n+three\n");
  });

  test("needs two versions", () => {
    const at = desk();
    at.write("a.md", "one");
    at.run("index", "a.md");
    const error = at.failure("diff", "a.md");
    expect(error).toMatchObject({ status: 3, code: "NOT_FOUND" });
    expect(error.message).toBe("`a.md` has no version before transaction 1");
    expect(error.hint).toBe("`palimpsest history a.md` lists its versions");
  });
});
