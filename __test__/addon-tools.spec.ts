// The tools: what they offer to a model, and what executing comes to, with wrong arguments and odd files.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type ContextTool, countTokens, type Session, tools } from "../index.js";
import { toolNames } from "../lib/tool-names.js";
import { asOtherUserWithoutReading, cloneIsPublic, missingOtherUser, temporaryFolder } from "./e2e/support.ts";
import { rejection, runModule, session, step, user, wrong } from "./sessions.ts";

const [read, activate, deactivate, pin, unpin] = tools({ read: true });
const all: [string, ContextTool][] = [read, activate, deactivate, pin, unpin].map((tool) => [tool.name, tool]);

describe("each tool", () => {
  test("has its name", () => {
    expect(all.map(([name]) => name)).toEqual(["read", "activate", "deactivate", "pin", "unpin"]);
  });

  test("is listed, `read` only on request", () => {
    const without = ["activate", "deactivate", "pin", "unpin"];
    for (const options of [undefined, {}, { read: false }]) {
      expect(tools(options).map(({ name }) => name)).toEqual(without);
    }
  });

  test.each(all)("is described: %s", (_, tool) => {
    for (const text of [tool.description, tool.promptSnippet ?? "None here.", ...tool.promptGuidelines]) {
      expect(text).toMatch(/^[A-Z]\S* .+/);
    }
    for (const line of [tool.promptSnippet ?? "", ...tool.promptGuidelines]) {
      expect(line).not.toContain("\n");
    }
  });

  test.each([
    ["read", read, ["path", "offset", "limit"], ["path"]],
    ["activate", activate, ["name", "lines", "pattern"], ["name"]],
    ["deactivate", deactivate, ["name"], ["name"]],
    ["pin", pin, ["name", "lines"], ["name"]],
    ["unpin", unpin, ["name"], ["name"]],
  ] as const)("has a schema of plain data: %s", (_, tool, properties, required) => {
    const schema = tool.parameters;
    expect(schema).toMatchObject({ type: "object", required });
    expect(Object.keys(schema.properties)).toEqual(properties);
    for (const property of Object.values(schema.properties)) {
      expect(property.type).toMatch(/^(string|number)$/);
    }
    expect(structuredClone(schema)).toEqual(schema);
    schema.required.length = 0;
    const [again] = tools({ read: true }).filter(({ name }) => name === tool.name);
    expect(again.parameters.required).toEqual(required);
  });

  test.each(all)("refuses arguments of a wrong shape: %s", async (name, tool) => {
    const s = await session();
    const [key] = tool.parameters.required;
    for (const args of [undefined, null, 5, "text", [], {}, { [key]: 5 }, { [key]: "" }, { [key]: null }, () => {}]) {
      const error = await rejection(() => tool.execute(s, "c", args));
      expect(error, `${name} ${String(args)}`).toBeInstanceOf(Error);
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });

  test.each(all)("refuses an invalid session or call ID: %s", async (_, tool) => {
    const s = await session();
    for (const [target, id] of [
      [undefined, "c"],
      [{}, "c"],
      [tool, "c"],
      [s, undefined],
      [s, 5],
    ]) {
      const error = await rejection(() => tool.execute(wrong(target), wrong(id), { name: "t1", path: "x" }));
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });
});

describe("activate, deactivate, pin and unpin", () => {
  let s: Session;
  beforeEach(async () => {
    s = await session();
    await s.transformContext([user("hello"), ...step(1, "one\ntwo\nthree"), ...step(2, "other")]);
  });

  test.each(all.slice(1))("name what they do not know: %s", async (_, tool) => {
    for (const name of ["t99", "f1", "nothing/here.txt", "\u0000", "x".repeat(10_000)]) {
      const error = await rejection(() => tool.execute(s, "c", { name }));
      expect(["UNKNOWN_NAME", "NOT_FOUND"]).toContain(error.code);
    }
  });

  test("refuse an infrastructure object", async () => {
    for (const tool of [activate, pin]) {
      expect(await rejection(() => tool.execute(s, "c", { name: "chat:s" }))).toMatchObject({
        code: "NOT_ACTIVATABLE",
      });
    }
  });

  test("refuse lines and patterns that cannot be read", async () => {
    for (const selection of [{ lines: "x" }, { lines: "1-2-3" }, { pattern: 7 }]) {
      const error = await rejection(() => activate.execute(s, "c", { name: "t1", ...selection }));
      expect(error, JSON.stringify(selection)).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });

  test("refuse arguments that they do not have, and name theirs", async () => {
    for (const [tool, args, said] of [
      [
        activate,
        { start: 1, end: 2 },
        "`start`, `end` are not arguments of this tool, which takes `name`, `lines` (as 40-80)",
      ],
      [pin, { range: "1-2" }, "`range` is not an argument of this tool, which takes `name`, `lines` (as 40-80)"],
      [deactivate, { lines: "1-2" }, "`lines` is not an argument of this tool, which takes `name`"],
      [activate, { lines: { from: 1 } }, "`lines` is not text"],
    ] as const) {
      const error = await rejection(() => tool.execute(s, "c", { name: "t1", ...args }));
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(said) });
    }
    const { content } = await activate.execute(s, "c", { name: "t1", lines: "2", start: null, end: "" });
    expect(content).toMatchObject([{ text: expect.stringContaining("line 2 of 3") }]);
  });

  test("take names, lines and patterns as models write them", async () => {
    for (const [args, first] of [
      [{ name: "t1:2-3" }, "[t1] bash · lines 2-3 of 3"],
      [{ name: "`T1`", lines: "3-2" }, "[t1] bash · lines 2-3 of 3"],
      [{ name: ["t1"], lines: [2, 3] }, "[t1] bash · lines 2-3 of 3"],
      [{ name: "t1", lines: 2 }, "[t1] bash · line 2 of 3"],
      [{ name: "t1", lines: "7-9" }, "[t1] bash · `7-9` is past the end of its 3 lines; the last are lines 1-3"],
      [
        { name: "t1", pattern: "(" },
        "[t1] bash · no line matches `(` (searched as plain text, since it is not a regular expression)",
      ],
    ]) {
      const { content } = await activate.execute(s, "c", args);
      expect(content[0].text.split("\n")[0], JSON.stringify(args)).toBe(first);
    }
  });

  test("answer in text", async () => {
    const { content, tokens } = await activate.execute(s, "c", { name: "t1", lines: "2-3" });
    expect(tokens).toBe(await countTokens(content[0].text));
    expect(content).toEqual([{ type: "text", text: expect.stringContaining("two\nthree") }]);
    for (const tool of [pin, unpin, deactivate]) {
      const answer = await tool.execute(s, `call of ${tool.name}`, { name: "t1" });
      expect(answer.content).toEqual([{ type: "text", text: expect.stringMatching(/\S/) }]);
    }
  });
});

describe("read", () => {
  let folder: string;
  let s: Session;
  beforeEach(async () => {
    folder = temporaryFolder();
    s = await session({ cwd: folder });
  });

  async function text(name: string, bytes: string | Buffer, args: object = {}): Promise<string> {
    writeFileSync(join(folder, name), bytes);
    const { content } = await read.execute(s, "c", { path: name, ...args });
    return content[0].text;
  }

  test("shows a file, by relative and by absolute path", async () => {
    expect(await text("a.txt", "one\ntwo\nthree\n")).toBe("one\ntwo\nthree\n");
    expect(await text("b.txt", "one\ntwo\nthree", { offset: 2, limit: 1 })).toContain("two");
    expect(await text("c.txt", "absolute", { path: join(folder, "c.txt") })).toBe("absolute");
    expect(await text("empty", "")).toBe("");
  });

  test("says that a file is missing", async () => {
    const error = await rejection(() => read.execute(s, "c", { path: "none.txt" }));
    expect(error).toMatchObject({
      code: "FILE",
      message: `cannot read \`${join(folder, "none.txt")}\`: there is no such file`,
    });
    expect(error.report).toContain("caused by");
  });

  test("says that a path is a directory", async () => {
    mkdirSync(join(folder, "dir"));
    for (const path of ["dir", ".", "/"]) {
      const error = await rejection(() => read.execute(s, "c", { path }));
      expect(error).toMatchObject({ code: "FILE", message: expect.stringMatching(/: it is a directory$/) });
    }
  });

  test.skipIf(process.platform === "win32")("refuses what might never end", async () => {
    spawnSync("mkfifo", [join(folder, "pipe")]);
    for (const path of ["pipe", "/dev/zero"]) {
      expect(await rejection(() => read.execute(s, "c", { path }))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });

  test("refuses paths that are none", async () => {
    for (const path of ["a\u0000b", "x".repeat(5_000), "a.txt/b", "\ud800"]) {
      expect(await rejection(() => read.execute(s, "c", { path })), path.slice(0, 9)).toMatchObject({ code: "FILE" });
    }
  });

  test("says that an offset is beyond the end", async () => {
    writeFileSync(join(folder, "a.txt"), "one\ntwo");
    const error = await rejection(() => read.execute(s, "c", { path: "a.txt", offset: 3 }));
    expect(error).toMatchObject({ code: "OFFSET_BEYOND_END" });
  });

  test("takes any number, and refuses what is none", async () => {
    for (const args of [
      { offset: -5 },
      { limit: -1 },
      { offset: 1.5, limit: 0.5 },
      { limit: 1e308 },
      { limit: null },
    ]) {
      expect(await text("a.txt", "one\ntwo", args)).toEqual(expect.any(String));
    }
    for (const args of [{ offset: "2" }, { limit: Number.NaN }, { limit: {} }]) {
      const error = await rejection(() => read.execute(s, "c", { path: "a.txt", ...args }));
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });

  test("shows binary files, NUL and bad UTF-8 as the host does", async () => {
    const files: [string, Buffer][] = [
      ["nul", Buffer.from("a\u0000b\u0000\n")],
      ["invalid", Buffer.from([0x61, 0xff, 0xfe, 0x62, 0xc3, 0x28, 0xe2, 0x82, 0x0a])],
      ["binary", Buffer.from(Array.from({ length: 2_048 }, (_, index) => (index * 31) % 256))],
      ["utf16", Buffer.from("\ufeffhello", "utf16le")],
    ];
    for (const [name, bytes] of files) {
      expect(await text(name, bytes)).toBe(bytes.toString("utf8"));
    }
    const list = [user("hello"), ...step(1, (await read.execute(s, "c", { path: "binary" })).content[0].text)];
    expect(await s.transformContext(list)).toEqual(list);
  });

  test("truncates long content, and shows lines beyond 100 MB", async () => {
    const lines = "x".repeat(1_023).concat("\n").repeat(100_000);
    expect((await text("large", lines)).length).toBeLessThan(60_000);
    expect(await text("large", lines, { offset: 99_999, limit: 1 })).toMatch(/^x{1023}\n\n\[/);
  });

  test.skipIf(missingOtherUser() || !cloneIsPublic())("says that a file may not be read", () => {
    writeFileSync(join(folder, "secret.txt"), "secret");
    const launcher = asOtherUserWithoutReading(folder);
    chmodSync(join(folder, "secret.txt"), 0o000);
    const source = `
      const store = await addon.openStore({ path: ":memory:" });
      const options = { harness: "test", sessionId: "s", cwd: ${JSON.stringify(folder)}, settings: { filesystemId: "f" } };
      const session = await addon.openSession(store, options);
      const error = await addon.tools({ read: true })[0].execute(session, "c", { path: "secret.txt" }).catch((error) => error);
      await session.recordToolCall({ toolCallId: "c", toolName: "edit", args: { path: "secret.txt" }, isError: false });
      const list = [${JSON.stringify(user("hello"))}];
      const sent = await session.transformContext(list);
      process.stdout.write([error.code, error.message, sent[0] === list[0]].join("; "));`;
    const message = `cannot read \`${join(folder, "secret.txt")}\`: permission denied`;
    expect(runModule(source, launcher)).toEqual({
      status: 0,
      signal: null,
      stdout: `FILE; ${message}; true`,
      stderr: "",
    });
  });
});

test("a foreign tool of our name gives ours another for good", async () => {
  const s = await session();
  const names = async (taken?: string[]) => (await s.tools(taken)).map(({ name }) => name);
  expect(await names(["bash", "activated"])).toEqual(["activate", "deactivate", "pin", "unpin"]);
  const prefixed = ["activate", "deactivate", "pin", "unpin"].map((name) => `palimpsest_${name}`);
  expect(await names(["bash", "pin"])).toEqual(prefixed);
  expect(await names()).toEqual(prefixed);
  const [renamed] = await s.tools();
  expect(renamed.promptGuidelines.join()).toContain("use palimpsest_activate where");
  await expect(renamed.execute(s, "call-1", { name: "t1" })).rejects.toMatchObject({ code: "UNKNOWN_NAME" });
  await expect(s.tools(["palimpsest_unpin"])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(s.tools("bash" as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("the names that need no native side are those that it has", () => {
  expect(tools().map(({ name }) => name)).toEqual(toolNames);
});
