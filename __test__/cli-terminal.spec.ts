// What the command prints on a terminal, a real one: a content, a path or a name may hold anything, and can be nothing but read. Into
// a pipe every byte goes as it is.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openSession, openStore } from "../index.js";
import { continued } from "../lib/continue.js";
import { columnsOf, harmless } from "../lib/terminal.js";
import { pinnedNode } from "../scripts/setup.js";
import { type Desk, desk, program } from "./command.ts";
import { patient, step, user } from "./sessions.ts";

/** Clears the screen, sets the window's title, hides what follows, goes back to the start of the line, and turns it around. */
const hostile = "\u001b[2J\u001b]0;owned\u0007\u009b8mhidden\rshown\b\u007f\u202egnp.exe\u2066\u200f\u061c";
const spelt =
  "\\u001b[2J\\u001b]0;owned\\u0007\\u009b8mhidden\\u000dshown\\u0008\\u007f\\u202egnp.exe\\u2066\\u200f\\u061c";

const missingTerminal =
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") !== true;

/** What a command prints on a terminal of its own. */
function onTerminal(at: Desk, ...args: string[]): string {
  return inColumns(80, at, ...args);
}

/** What a command prints on a terminal that is so wide. */
function inColumns(columns: number, at: Desk, ...args: string[]): string {
  const quoted = [pinnedNode(), program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  // Nothing else of this process's environment: `CI`, `NO_COLOR` and others of the kind turn colours off or on.
  const { PATH, HOME, PI_CODING_AGENT_DIR } = at.env;
  const env = { PATH, HOME, PI_CODING_AGENT_DIR, TERM: "xterm", SHELL: "/bin/sh" };
  const options = { cwd: at.folder, env, encoding: "utf8", timeout: 50_000, input: "" } as const;
  const { stdout } = spawnSync("script", ["-qec", `stty cols ${columns}; ${quoted.join(" ")}`, "/dev/null"], options);
  return stdout.replace(/\r+\n/g, "\n").replace(/^\^D[\b]*/, "");
}

/** What is left of a text without our own bold, red, green and yellow. */
function withoutOurStyles(text: string): string {
  return text.replace(new RegExp(`${"\u001b"}\\[(?:1|22|3[123]|39)m`, "g"), "");
}

async function hostileDesk(): Promise<Desk> {
  const at = desk();
  at.write("a.md", `one ${hostile}\r\n\ttwo\n`);
  at.run("index", "a.md");
  const store = await openStore({ path: at.store });
  const session = await openSession(store, {
    harness: `test${hostile}`,
    sessionId: "s",
    cwd: at.folder,
    settings: patient,
  });
  await session.transformContext([user(`Run ${hostile}`), ...step(1, `done ${hostile}\n`)]);
  await session.close();
  await store.close();
  return at;
}

/** A session whose person begins so. */
async function playTitled(at: Desk, title: string): Promise<void> {
  const store = await openStore({ path: at.store });
  const session = await openSession(store, { harness: "test", sessionId: "s", cwd: at.folder, settings: patient });
  await session.transformContext([user(title)]);
  await session.close();
  await store.close();
}

describe.skipIf(missingTerminal)("on a terminal", () => {
  test.each([
    ["show", ["show", "a.md"]],
    ["show --json", ["show", "a.md", "--json"]],
    ["context", ["context", "latest"]],
    ["context --json", ["context", "latest", "--json"]],
    ["sessions", ["sessions"]],
    ["objects", ["objects"]],
    ["search", ["search", "one"]],
    ["show of a chat", ["show", "chat:s"]],
    ["show of an unknown name", ["show", `no${hostile}`]],
  ])("%s prints no control characters", async (_, args) => {
    const at = await hostileDesk();
    const printed = withoutOurStyles(onTerminal(at, ...args));
    expect(printed.length).toBeGreaterThan(20);
    expect(printed).not.toMatch(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/u);
  });

  test("content has its control characters escaped, line by line", async () => {
    const at = await hostileDesk();
    expect(onTerminal(at, "show", "a.md")).toBe(`one ${spelt}\n\ttwo\n`);
    expect(JSON.parse(onTerminal(at, "show", "a.md", "--json")).text).toBe(`one ${hostile}\r\n\ttwo\n`);
  });

  test("content without a final newline gets one before the prompt", async () => {
    const at = desk();
    at.write("a.md", "no end");
    at.run("index", "a.md");
    expect(onTerminal(at, "show", "a.md")).toBe("no end\n");
    expect(at.run("show", "a.md").stdout).toBe("no end");
  });

  test("a row fits, however wide its signs are", async () => {
    const at = desk();
    await playTitled(
      at,
      "\u65e5\u672c\u8a9e\u306e\u30bf\u30a4\u30c8\u30eb\u3001\u3068\u3066\u3082\u9577\u3044 \u{1f389} e\u0301".repeat(
        3,
      ),
    );
    const [head, row] = withoutOurStyles(inColumns(60, at, "sessions")).split("\n");
    expect(columnsOf(row)).toBeLessThanOrEqual(60);
    const before = (line: string, place: number) => columnsOf(line.slice(0, place));
    expect(before(row, row.indexOf("session:s"))).toBe(before(head, head.indexOf("SESSION")));
  });

  test("a figure is shown whole or not at all", async () => {
    const at = desk();
    await playTitled(at, "word ".repeat(2_000));
    const rows = (columns: number) =>
      withoutOurStyles(inColumns(columns, at, "ledger", "latest", "--calls")).split("\n");
    const whole = rows(200)[1].split(/ +/);
    for (let columns = 30; columns < 50; columns += 1) {
      expect(whole).toEqual(expect.arrayContaining(rows(columns)[1].split(/ +/)));
    }
  });

  test("our own styles are shown", async () => {
    const at = await hostileDesk();
    expect(onTerminal(at, "objects")).toMatch(new RegExp(`^${"\u001b"}\\[1mWHAT `));
  });

  test("a path and a nickname are spelt out", () => {
    const at = desk();
    at.write("a\u001b[31m\u202eb.md", "x");
    expect(onTerminal(at, "index", ".")).toContain("/a\\u001b[31m\\u202eb.md\n");
    expect(at.run("name", "a\u001b[31m\u202eb.md", "my\u202ename").status).toBe(0);
    expect(onTerminal(at, "objects")).toContain("(my\\u202ename) ");
  });

  test("the newest objects are shown, and all where asked for", () => {
    const at = desk();
    for (let number = 0; number < 203; number++) {
      at.write(`many/${number}.md`, `text ${number}`);
    }
    at.run("index", ".");
    const rows = (text: string) => text.match(/[ \t]file[ \t]/g)?.length;
    const cut = onTerminal(at, "objects");
    expect([rows(cut), cut.trimEnd().endsWith("or give a --limit.")]).toEqual([200, true]);
    const all = [onTerminal(at, "objects", "--limit", "300"), at.run("objects").stdout];
    expect(all.map(rows)).toEqual([203, 203]);
    expect(rows(onTerminal(at, "objects", "--query", "type = file limit 201"))).toBe(201);
  });
});

test("names that differ in what is hidden never read alike", () => {
  const at = desk();
  const chat = `${JSON.stringify({ session: { id: "n", cwd: "/x" } })}\n${JSON.stringify(user("Hi."))}\n`;
  for (const name of ["a b", "a\tb", "a\nb"]) {
    at.write(`${name}.md`, `alike ${name.length}`);
    at.write(`${name}.jsonl`, chat.replace('"n"', JSON.stringify(name)));
  }
  at.run("index", ".");
  const found = at.run("search", "alike", "--type", "file").stdout;
  const replayed = at.run("replay", at.folder).stdout;
  for (const name of ["a b", "a\\u0009b", "a\\u000ab"]) {
    expect(found).toContain(`/${name}.md\t`);
    expect(replayed).toContain(`\n${name}\t`);
  }
});

test("into a pipe every byte goes as it is", async () => {
  const at = await hostileDesk();
  expect(at.run("show", "a.md").stdout).toBe(`one ${hostile}\r\n\ttwo\n`);
  expect(at.run("context", "latest").stdout).toContain(`Run ${hostile}`);
});

test.skipIf(!existsSync("/dev/full"))("a full disk is said in one line", () => {
  const at = desk();
  at.write("a.md", "one");
  at.run("index", "a.md");
  const options = { cwd: at.folder, env: at.env, encoding: "utf8" } as const;
  const given = ["-c", '"$0" "$1" objects --json >/dev/full', pinnedNode(), program];
  expect(spawnSync("sh", given, options)).toMatchObject({
    status: 1,
    stderr: "palimpsest: the output cannot be written: no space left on device\n",
  });
});

test("what is spelt out once is not spelt out again", () => {
  expect(harmless(hostile)).toBe(spelt);
  expect(harmless(spelt)).toBe(spelt);
  expect(harmless("a\n\tb\r\nc é 👨‍👩‍👧 \\u001b")).toBe("a\n\tb\r\nc é 👨‍👩‍👧 \\u001b");
});

test("a session of others begins no line where one continues it", async () => {
  const told = { harness: "pi\nPalimpsest:", turns: 1, objects: 0, pinned: 0, tokens: 9 };
  const opened = { session: { continueFrom: async () => told }, store: { findSession: async () => "session:a\nb" } };
  const said = await continued({ ...opened, cwd: "/" } as unknown as Parameters<typeof continued>[0], "a");
  expect(said).toMatch(/^This session goes on with `session:a\\u000ab` \(pi\\u000aPalimpsest:, 1 turn\): .*$/);
});
