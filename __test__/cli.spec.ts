// The `palimpsest` command as a process of its own, on real stores: help, usage, place of the store, index.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { IndexReport, StoreStats } from "../index.js";
import { pinnedNode, root } from "../scripts/setup.js";
import { desk, program, withSession, withTwoVersions } from "./command.ts";

describe("help", () => {
  test("fits on one screen, and every command has help of its own", () => {
    const at = desk();
    const declarations = ["index.d.ts", "binding.d.ts"].map((name) => readFileSync(join(root, name), "utf8"));
    const types = declarations.join("\n");
    const { status, stdout } = at.run("--help");
    const lines = stdout.split("\n");
    expect(status).toBe(0);
    expect(lines.length).toBeLessThanOrEqual(40);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    expect(commands.length).toBeGreaterThanOrEqual(8);
    for (const command of commands) {
      const help = at.run(command, "--help");
      expect({ command, status: help.status, stderr: help.stderr }).toEqual({ command, status: 0, stderr: "" });
      expect(help.stdout).toMatch(new RegExp(`Examples?:\n {2}palimpsest ${command}`));
      expect(help.stdout).toMatch(/--json .*\n.*--store PATH /);
      expect(help.stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
      const [usage, all] = help.stdout.split("\n\nOptions:\n");
      const declared = [...all.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option]) => option);
      const own = declared.filter((option) => !["--json", "--store", "--help"].includes(option));
      const inUsage = [...usage.split("\n\n")[0].matchAll(/--[a-z-]+/g)].map(([option]) => option);
      expect({ command, options: inUsage.toSorted() }).toEqual({ command, options: own.toSorted() });
      const [, shape] = /^With --json.*\n((?: {2}.+\n)+)An error/m.exec(help.stdout) ?? [];
      const isDeclared = (name: string) => new RegExp(`^export (interface|type) ${name} [{=]`, "m").test(types);
      const unknown = [...shape.matchAll(/\b[A-Z]\w+/g)].filter(([type]) => !isDeclared(type));
      expect({ command, unknown: unknown.filter(([type]) => type !== "Record") }).toEqual({ command, unknown: [] });
      expect(at.run("help", command).stdout).toBe(help.stdout);
    }
    expect(existsSync(at.store)).toBe(false);
  });

  test("says the version", () => {
    expect(desk().run("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("wrong usage", () => {
  test.each([
    [["frobnicate"], "there is no command `frobnicate`"],
    [["show"], "an argument is missing: palimpsest show NAME"],
    [["index"], "an argument is missing: palimpsest index PATH"],
    [["sessions", "x"], "`x` is one argument too many"],
    [["show", "a", "--colour"], "unknown option `--colour`"],
    [["show", "a", "--lines"], "option `--lines"],
    [["objects", "--limit", "many"], "`--limit` must be a whole number, is `many`"],
    [["name", "only-one"], "name an object and its nickname"],
    [["show", "a", "--metadata", "--lines", "1"], "`--metadata` shows no content"],
    [["sessions", "--limit", "-1"], "`--limit` must be a whole number, is `-1`"],
  ])("exits with a hint: %j", (args, message) => {
    const at = desk();
    const { status, stdout, stderr } = at.run(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain(`palimpsest: ${message}`);
    expect(stderr.split("\n")[1]).toMatch(/^hint: /);
    const error = at.failure(...args);
    expect(error).toMatchObject({ status: 2, code: "USAGE" });
    expect(error.message).toContain(message);
  });

  test.each([
    [["objects", "--type", "folder"], "`--type` is `folder`; it must be one of "],
    [["objects", "--query", "tool ="], "`--query` is not clear at column 7"],
    [["objects", "--query", "colour = red"], "no object has the field `colour`"],
    [["objects", "--at", "soon"], "`--at` is `soon`; it must be a transaction such as `12`, or a time "],
    [["objects", "--at", "-1"], "`--at` is `-1`; it must be a transaction such as `12`, or a time "],
    [["show", "a.md", "--at", "soon"], "`--at` is `soon`; "],
    [["show", "a.md", "--lines", "five"], "`--lines` "],
    [["show", "a.md", "--field", "none"], "`--field` is `none`; "],
    [["diff", "a.md", "1", "soon"], "`B` is `soon`; "],
    [["search", ""], "`TEXT` holds no word"],
    [["search", "a", "--limit", "0"], "`--limit` must be at least 1"],
    [["name", "a.md", "t17"], "`t17` cannot be a nickname"],
    [["show", "nothing", "--session", "latest"], "`NAME` is `nothing`; it must be like `t17`"],
    [["replay", "a.md", "--prices", "mine"], "`--prices` is `mine`; it must be one of anthropic, "],
    [["replay", "a.md", "--layout", "mine"], "`--layout` is `mine`; "],
    [["replay", "a.md", "--tokens", "mine"], "`--tokens` is `mine`; "],
  ])("found by the store: %j", async (args, message) => {
    const at = withTwoVersions();
    await withSession(at);
    at.run("export", "a.jsonl");
    const { status, stderr } = at.run(...args);
    expect(stderr).toContain(`palimpsest: ${message}`);
    expect(status).toBe(2);
  });

  test("without a command prints the help and fails", () => {
    const { status, stdout } = desk().run();
    expect(status).toBe(2);
    expect(stdout).toContain("Usage:");
  });
});

describe("the store", () => {
  test("is where agent folder, setting, environment or --store says", () => {
    const at = desk();
    at.write("a.md", "x");
    at.run("index", "a.md");
    expect(existsSync(at.store)).toBe(true);
    const where = () => at.json<{ path: string }>("stats").path;
    expect(where()).toBe(at.store);
    const agent = String(at.env.PI_CODING_AGENT_DIR);
    writeFileSync(join(agent, "palimpsest.json"), '{"store": "set.sqlite"}');
    at.run("index", "a.md");
    expect(where()).toBe(join(agent, "set.sqlite"));
    at.env.PALIMPSEST_STORE = join(at.folder, "env.sqlite");
    at.run("index", "a.md");
    expect(where()).toBe(join(at.folder, "env.sqlite"));
    at.run("index", "a.md", "--store", "given.sqlite");
    expect(at.json<{ path: string }>("stats", "--store", "given.sqlite").path).toBe(join(at.folder, "given.sqlite"));
  });

  test("is in the home folder's agent folder by default", () => {
    const at = desk();
    at.write("a.md", "x");
    delete at.env.PI_CODING_AGENT_DIR;
    at.run("index", "a.md");
    const home = String(at.env.HOME);
    expect(at.json<{ path: string }>("stats").path).toBe(join(home, ".pi", "agent", "palimpsest", "store.sqlite"));
    at.env.PI_CODING_AGENT_DIR = "~/agent";
    at.run("index", "a.md");
    expect(at.json<{ path: string }>("stats").path).toBe(at.store);
  });

  test.each([
    "sessions",
    "ledger x",
    "objects",
    "context x",
    "show x",
    "history x",
    "diff x",
    "links x",
    "name x y",
    "forget x",
    "gc",
    "doctor --set-aside",
    "export x",
    "stats",
  ])("is not made by `%s`", (command) => {
    const at = desk();
    const { status, stdout, stderr } = at.run(...command.split(" "));
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    // What is damaged has a place that somebody means.
    const isMeant = command.startsWith("doctor");
    expect(stderr).toContain(
      isMeant ? `cannot use the store \`${at.store}\`: ` : "palimpsest: there is no session yet\nhint: ",
    );
    expect(existsSync(at.store)).toBe(false);
    expect(at.run(...command.split(" "), "--store", at.store).stderr).toContain(
      `cannot use the store \`${at.store}\`: `,
    );
  });

  test("may be given before the command as well", () => {
    const at = desk();
    at.write("a.md", "x");
    at.run("--store", "given.sqlite", "index", "a.md");
    const { status, stdout } = at.run("--json", "--store=given.sqlite", "stats");
    expect({ status, path: JSON.parse(stdout).path }).toEqual({ status: 0, path: join(at.folder, "given.sqlite") });
    expect(at.run("--json").status).toBe(2);
  });

  test("is named if it is damaged, a folder or misconfigured", () => {
    const at = desk();
    const damaged = at.write("damaged.sqlite", "this is not a database at all, and it is longer than a header");
    chmodSync(damaged, 0o600);
    expect(at.failure("stats", "--store", damaged)).toMatchObject({ status: 1, code: "STORE_CORRUPT" });
    expect(at.run("stats", "--store", damaged).stderr).toMatch(/^palimpsest: .*\n(caused by: .*\n)+hint: /);
    expect(readFileSync(damaged, "utf8")).toMatch(/^this is not a database/);
    expect(at.failure("stats", "--store", at.folder)).toMatchObject({ status: 1, code: "STORE_UNAVAILABLE" });
    mkdirSync(String(at.env.PI_CODING_AGENT_DIR));
    writeFileSync(join(String(at.env.PI_CODING_AGENT_DIR), "palimpsest.json"), '{"stor": 1}');
    expect(at.failure("replay", "x")).toMatchObject({ status: 1, code: "INVALID_SETTINGS" });
  });

  test("is found despite wrong settings that the command ignores", () => {
    const at = withTwoVersions();
    const settings = join(String(at.env.PI_CODING_AGENT_DIR), "palimpsest.json");
    writeFileSync(settings, '{"keepResults": "all", "mounts": [{ "agentPrefix": "/w" }], "exclude": ["[x"]}');
    for (const args of [["sessions"], ["objects"], ["stats"], ["search", "one"], ["export", "a.jsonl"]]) {
      const { status, stderr } = at.run(...args);
      expect({ args, status }).toEqual({ args, status: 0 });
      expect(stderr).toMatch(/^palimpsest: settings in .*`keepResults` must be .*this command does not need it\n$/);
    }
    const checked = at.run("doctor");
    expect([checked.status, checked.stderr, checked.stdout.split("`keepResults` must be").length]).toEqual([1, "", 2]);
    expect(at.failure("show", "a.md").message).toContain(
      '`mounts` has the entry 1, `{"agentPrefix":"/w"}`, which lacks the key `canonicalPrefix`',
    );
    expect(at.failure("index", "a.md").message).toContain('`exclude` has the entry 1, `"[x"`, which is not a glob');
    expect(at.failure("import", "a.jsonl")).toMatchObject({ code: "INVALID_SETTINGS" });
    writeFileSync(settings, '{"prices": "mine"}');
    expect(at.run("show", "a.md").status).toBe(0);
    expect(at.failure("replay", "a.jsonl").message).toContain("`prices` must be `auto`, `anthropic`, ");
    writeFileSync(settings, "{ no JSON");
    expect(at.failure("stats")).toMatchObject({ code: "INVALID_SETTINGS" });
    expect(at.run("stats", "--store", at.store).status).toBe(0);
  });

  test.skipIf(process.getuid?.() !== 0 || spawnSync("setpriv", ["--version"]).status !== 0)(
    "can be read in a read-only folder, and does not change",
    async () => {
      const at = withTwoVersions();
      at.write("a.md", "one [[b]]\n");
      at.run("index", "a.md");
      await withSession(at);
      const folder = dirname(at.store);
      const files = () => readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "base64")]);
      const before = files();
      // The user whom permissions bind owns the store and may only read.
      const user = 65_534;
      for (const path of [dirname(at.folder), at.folder, dirname(folder), folder]) {
        chownSync(path, user, user);
      }
      for (const name of readdirSync(folder)) {
        chownSync(join(folder, name), user, user);
        chmodSync(join(folder, name), 0o400);
      }
      chmodSync(folder, 0o500);
      const run = (...args: string[]) => {
        const words = [`--reuid=${user}`, `--regid=${user}`, "--clear-groups", pinnedNode(), program, ...args];
        const { status, stderr, stdout } = spawnSync("setpriv", words, {
          cwd: at.folder,
          env: at.env,
          encoding: "utf8",
        });
        return { args, status, stderr, stdout };
      };
      for (const args of [
        ["sessions"],
        ["show", "a.md"],
        ["history", "a.md"],
        ["diff", "a.md"],
        ["links", "a.md"],
        ["context", "latest"],
        ["ledger", "latest"],
        ["search", "one"],
        ["objects", "--query", "type = file"],
        ["stats"],
        ["gc"],
        ["forget", "a.md"],
        ["export", "a.jsonl"],
      ]) {
        expect(run(...args)).toMatchObject({ args, status: 0, stderr: "" });
      }
      const found = expect.stringMatching(/\ndisk: nothing can be written into `.*`: you may not\n/);
      expect(run("doctor")).toMatchObject({ status: 1, stderr: "", stdout: found });
      expect(run("name", "a.md", "entry")).toMatchObject({ status: 1, stderr: expect.stringContaining("read-only") });
      expect(files()).toEqual(before);
    },
  );

  test("is left as it is by commands that only read", async () => {
    const at = withTwoVersions();
    await withSession(at);
    const files = () => {
      const folder = dirname(at.store);
      const names = readdirSync(folder).filter((name) => !/-(shm|wal)$/.test(name));
      return names.map((name) => [name, statSync(join(folder, name)).mtimeMs]);
    };
    const before = files();
    const run = (...args: string[]) => expect({ args, ...at.run(...args) }).toMatchObject({ args, status: 0 });
    for (const command of ["sessions", "objects", "stats", "gc", "doctor"]) {
      run(command);
    }
    for (const command of ["show", "history", "diff"]) {
      run(command, "a.md");
    }
    for (const command of ["context", "ledger"]) {
      run(command, "latest");
    }
    run("export", "all.jsonl");
    run("import", "all.jsonl", "--dry-run");
    expect(files()).toEqual(before);
  });
});

describe("index", () => {
  test("says what became of each file and writes only what changed", () => {
    const at = desk();
    at.write("v/a.md", "one");
    at.write("v/b.bin", Buffer.from([0xff, 0x00]));
    const first = at.run("index", "v");
    expect(first).toEqual({
      status: 0,
      stdout: `created    ${at.folder}/v/a.md\ncreated    ${at.folder}/v/b.bin (binary)\n2 created\n`,
      stderr: "",
    });
    at.write("v/a.md", "two");
    rmSync(join(at.folder, "v", "b.bin"));
    at.write("v/c.md", "new");
    const report = at.json<IndexReport & { summary: object }>("index", "v");
    expect(report.summary).toEqual({ created: 1, updated: 1, unchanged: 0, deleted: 1, failed: 0, skipped: 0 });
    expect(report.files.map(({ path, outcome, noContent }) => [path, outcome, noContent])).toEqual([
      [join(at.folder, "v/a.md"), "updated", null],
      [join(at.folder, "v/c.md"), "created", null],
      [join(at.folder, "v/b.bin"), "deleted", "deleted"],
    ]);
    expect(report.files.map(({ id, txId }) => [id.length, txId])).toEqual([
      [64, 2],
      [64, 2],
      [64, 2],
    ]);
    expect(at.run("index", "v").stdout).toBe("2 unchanged\n");
    expect(at.json<StoreStats>("stats").newest?.txId).toBe(2);
  });

  test("goes on past what it cannot read, says so and exits with 1", () => {
    const at = desk();
    at.write("v/a.md", "one");
    const locked = at.write("v/locked.md", "secret");
    chmodSync(locked, 0);
    symlinkSync(locked, join(at.folder, "v", "link.md"));
    const missing = join(at.folder, "nowhere");
    const { status, stdout, stderr } = at.run("index", "v", "nowhere");
    expect(status).toBe(1);
    expect(stderr).toContain(`palimpsest: ${missing}: there is no such file or folder\n`);
    expect(stdout).toContain(`created    ${at.folder}/v/a.md\n`);
    // Root may read everything.
    const unreadable = process.getuid?.() === 0 ? 0 : 1;
    expect(stdout).toContain(`${2 - unreadable} created, ${1 + unreadable} failed, 1 skipped\n`);
  });

  test("stores no text of key files or excluded files", () => {
    const at = desk();
    at.write("server.pem", "secret");
    at.write("a.dump", "secret");
    expect(at.run("index", ".").stdout).toContain(`created    ${at.folder}/server.pem (excluded)\n`);
    expect(at.run("show", "a.dump").stdout).toBe("secret");
    writeFileSync(join(String(at.env.PI_CODING_AGENT_DIR), "palimpsest.json"), '{"exclude": ["*.dump"]}');
    expect(at.run("index", ".").stdout).toBe(
      `updated    ${at.folder}/a.dump (excluded)\nupdated    ${at.folder}/server.pem\n2 updated\n`,
    );
  });

  test("keeps names with line ends and escapes on one line", () => {
    const at = desk();
    at.write("a\n\u001b[31mb.md", "x");
    expect(at.run("index", ".").stdout).toBe(`created    ${at.folder}/a\\u000a\\u001b[31mb.md\n1 created\n`);
    const { files } = at.json<IndexReport>("index", ".");
    expect(files[0].path).toBe(join(at.folder, "a\n\u001b[31mb.md"));
    expect(at.run("show", "a\n\u001b[31mb.md").stdout).toBe("x");
  });

  test("takes hidden and ignored files with --all", () => {
    const at = desk();
    at.write(".gitignore", "x.log\n");
    at.write("x.log", "log");
    at.write("a.md", "a");
    expect(at.run("index", ".").stdout).toBe(`created    ${at.folder}/a.md\n1 created\n`);
    expect(at.run("index", ".", "--all").stdout).toContain("2 created, 1 unchanged\n");
  });

  test("stores 3,000 files", () => {
    const at = desk();
    for (let number = 0; number < 3_000; number++) {
      at.write(`v/${number % 50}/${number}.md`, `# Note ${number}\n\n${"text of the note\n".repeat(number % 40)}`);
    }
    const report = at.json<{ summary: { created: number } }>("index", "v");
    expect(report.summary.created).toBe(3_000);
  });
});

test("under an open umask all that is made is its user's alone", () => {
  const at = desk();
  at.write("a.md", "x");
  const run = (...args: string[]) => {
    const words = [pinnedNode(), program, ...args].map((word) => `'${word}'`).join(" ");
    const { status, stderr } = spawnSync("sh", ["-c", `umask 0; ${words}`], {
      cwd: at.folder,
      env: at.env,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  };
  run("index", ".");
  run("export", "a.jsonl.zst");
  const folder = dirname(at.store);
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
  expect([dirname(folder), folder].map(mode)).toEqual(["700", "700"]);
  const files = [...readdirSync(folder).map((name) => join(folder, name)), join(at.folder, "a.jsonl.zst")];
  expect(files.length).toBeGreaterThan(2);
  expect(files.map(mode)).toEqual(files.map(() => "600"));
});

test("what looks like SQL is a text to look for and nothing else", () => {
  const at = withTwoVersions();
  for (const text of ["'; DROP TABLE object; --", 'x" OR 1=1 --', "') UNION SELECT * FROM version --", 'a*" NEAR(b']) {
    expect([0, 2]).toContain(at.run("search", text).status);
    expect(at.json<{ objects: unknown[] }>("objects", "--query", `path = ${JSON.stringify(text)}`).objects).toEqual([]);
    expect(at.failure("objects", "--query", text)).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect([0, 2]).toContain(at.run("name", "a.md", text).status);
  }
  expect(at.json<{ objects: unknown[] }>("objects").objects).toHaveLength(1);
  expect(at.run("doctor").status).toBe(0);
});

test("NO_COLOR and pipes get plain text", () => {
  const at = withTwoVersions();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the start of an escape sequence
  expect(at.run("diff", "a.md").stdout).not.toMatch(/\u001b/);
  at.env.NO_COLOR = "1";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the start of an escape sequence
  expect(at.run("diff", "a.md").stdout).not.toMatch(/\u001b/);
});
