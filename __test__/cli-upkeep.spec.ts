// The commands that look after a store, as processes of their own: export, import, forget, gc, doctor.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { ExportedArchive, ForgetReport, ImportedArchive } from "../index.js";
import { pinnedNode } from "../scripts/setup.js";
import { desk, program, withSession, withTwoVersions } from "./command.ts";

describe("export and import", () => {
  test("carry everything to another store, once", async () => {
    const at = withTwoVersions();
    await withSession(at);
    expect(at.run("export", "all.jsonl.zst")).toMatchObject({ status: 0, stderr: "" });
    const other = ["--store", join(at.folder, "other.sqlite")];
    const first = at.json<ImportedArchive>("import", "all.jsonl.zst", ...other);
    expect(first).toMatchObject({ present: 0, leftOut: [], unknownLines: {} });
    expect(at.run("show", "a.md@-1", ...other).stdout).toBe("one\ntwo\n");
    expect(at.run("show", "chat:s", ...other).stdout).toBe(at.run("show", "chat:s").stdout);
    expect(at.json("import", "all.jsonl.zst", ...other)).toMatchObject({ versions: 0, present: first.versions });
    const again = `took 0 versions of 0 objects, ${first.versions} were there\n`;
    expect(at.run("import", "all.jsonl.zst", ...other).stdout).toBe(again);
  });

  test("say first what an archive would change", async () => {
    const at = withTwoVersions();
    at.run("export", "old.jsonl", "--object", "a.md");
    writeFileSync(join(at.folder, "a.md"), "another\n");
    writeFileSync(join(at.folder, ".env"), "KEY=1\n");
    const other = ["--store", "other.sqlite"];
    expect(at.run("import", "old.jsonl", ...other).status).toBe(0);
    expect(at.run("index", ".", ...other).status).toBe(0);
    expect(at.run("export", "new.jsonl", ...other).status).toBe(0);

    const before = at.run("history", "a.md").stdout;
    const would = at.run("import", "new.jsonl", "--dry-run");
    expect(would.stdout).toMatch(
      /^would take \d+ versions of \d+ objects, 2 were there(, \d+ versions? put again)?\n$/,
    );
    expect(at.run("history", "a.md").stdout).toBe(before);
    expect(at.run("import", "new.jsonl").stdout).toBe(would.stdout.replace("would take", "took"));
    // What this store saw of a file stays the latest; what another one says of it is there, and called what it is.
    expect(at.run("show", "a.md")).toMatchObject({ stdout: "one\n2\nthree\n", stderr: "" });
    const rows = at.run("history", "a.md").stdout.trimEnd().split("\n");
    const theirs = rows.map((row) => row.split("\t")).filter((row) => row.at(-1) !== "-");
    expect(theirs).toHaveLength(1);
    const [[tx]] = theirs;
    expect(at.run("show", `a.md@${tx}`)).toMatchObject({
      stdout: "another\n",
      stderr: expect.stringMatching(/^palimpsest: written by another store, [0-9a-f]{8}\n$/),
    });
  });

  test("take no nickname that looks like a file, and mark origins", async () => {
    const at = withTwoVersions();
    at.run("name", "a.md", "plan");
    at.run("name", "a.md", "b.md");
    at.run("export", "all.jsonl");
    const other = ["--store", "other.sqlite"];
    const taken = at.run("import", "all.jsonl", ...other);
    expect(taken.stderr).toMatch(/^palimpsest: left out \S+: `b\.md`: it looks like a file's name\n$/);
    expect(at.run("show", "plan", ...other).stdout).toBe("one\n2\nthree\n");
    expect(at.failure("show", "b.md", ...other)).toMatchObject({ code: "UNKNOWN_NAME" });
    expect(at.run("objects", ...other).stdout).toMatch(/\(plan\) \S+a\.md · from another store, [0-9a-f]{8}\n/);
    expect(at.run("objects").stdout).not.toContain("another store");
    expect(at.run("show", "plan", "--metadata", ...other).stdout).toContain("from another store");
  });

  test("carry one session or one object, also through a pipe", async () => {
    const at = withTwoVersions();
    await withSession(at);
    const { status, stdout, stderr } = at.run("export", "-", "--object", "a.md");
    expect(status).toBe(0);
    expect(stderr).toMatch(/^wrote 1 object, 2 versions, 0 items: \d+ bytes\n$/);
    for (const line of stdout.trimEnd().split("\n")) {
      JSON.parse(line);
    }
    const options = { cwd: at.folder, env: at.env, encoding: "utf8", input: stdout } as const;
    const given = [program, "import", "-", "--store", "piped.sqlite"];
    expect(spawnSync(pinnedNode(), given, options)).toMatchObject({
      status: 0,
      stdout: "took 2 versions of 1 object, 0 were there\n",
    });
    expect(at.run("show", "a.md", "--store", "piped.sqlite").stdout).toBe("one\n2\nthree\n");
    const session = at.json<ExportedArchive & { path: string }>("export", "s.jsonl", "--session", "session:s");
    expect(session).toMatchObject({ path: "s.jsonl", objects: expect.any(Number), redactions: {} });
    expect(readFileSync(join(at.folder, "s.jsonl"), "utf8")).toContain("call_1");
  });

  test("end without a word where nobody reads on", () => {
    const at = desk();
    at.write("big.txt", "a line of more than a pipe holds\n".repeat(10_000));
    at.run("index", "big.txt");
    const piped = `{ "$0" "$1" export -; echo "exit $?" >&2; } | true`;
    const options = { cwd: at.folder, env: at.env, encoding: "utf8" } as const;
    expect(spawnSync("sh", ["-c", piped, pinnedNode(), program], options).stderr).toBe("exit 0\n");
  });

  test("replace secrets when told to", () => {
    const at = desk();
    const key = ["ghp", "Zk3vQ9xT7bLmR2sWc8Yd1NfH5uJp6GaE4tVo"].join("_");
    at.write("a.md", `token ${key}\n`);
    at.run("index", "a.md");
    expect(at.run("export", "a.jsonl", "--redact").stdout).toMatch(/\nredacted 1\n {2}1 \S+\n$/);
    expect(readFileSync(join(at.folder, "a.jsonl"), "utf8")).not.toContain(key);
  });

  test("refuse what is wrong and write nothing", () => {
    const at = withTwoVersions();
    at.run("export", "all.jsonl");
    const lines = readFileSync(join(at.folder, "all.jsonl"), "utf8").split("\n");
    at.write("torn.jsonl", [lines[0], "{broken", ...lines.slice(1)].join("\n"));
    const error = at.failure("import", "torn.jsonl", "--store", "new.sqlite");
    expect(error).toMatchObject({ status: 1, code: "MALFORMED_ARCHIVE" });
    expect(error.message).toContain("line 2 ");
    expect(readdirSync(at.folder).filter((name) => name.startsWith("new"))).toEqual([]);
    expect(at.json("import", "all.jsonl", "--dry-run", "--store", "new.sqlite")).toMatchObject({ versions: 2 });
    expect(existsSync(join(at.folder, "new.sqlite"))).toBe(false);
    expect(at.failure("import", "none.jsonl")).toMatchObject({ status: 1, code: "FILE" });
    expect(at.failure("export", "x", "--session", "a", "--object", "b")).toMatchObject({ status: 2, code: "USAGE" });
    expect(at.failure("export", "x", "--session", "nothing")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
    expect(at.failure("export", "-")).toMatchObject({ status: 2, code: "USAGE" });
  });
});

describe("forget and gc", () => {
  test("leave outputs out of the search, and say so", async () => {
    const at = desk();
    await withSession(at);
    const outputs = () =>
      at.json<{ hits: { type: string }[]; outputs: string }>("search", "done", "--type", "toolcall");
    expect(outputs()).toMatchObject({ hits: [{ type: "toolcall" }], outputs: "all" });
    const dry = at.run("gc", "--outputs", "unsearched").stdout;
    expect(dry).toMatch(
      /^outputs of tool calls +unsearched from now on\nsearch index +\d+\nstore before .*\nstore after, /m,
    );
    expect(outputs()).toMatchObject({ outputs: "all" });
    expect(at.run("gc", "--outputs", "unsearched", "--yes").status).toBe(0);
    expect(outputs()).toMatchObject({ hits: [], outputs: "none" });
    expect(at.run("search", "done").stderr).toMatch(
      /^palimpsest: outputs are not searched: `.* gc --outputs searched --yes`\n$/,
    );
    expect(at.run("gc", "--outputs", "searched").stdout).not.toContain("store after");
    at.run("gc", "--outputs", "searched", "--yes");
    expect(outputs()).toMatchObject({ hits: [{ type: "toolcall" }], outputs: "all" });
    expect(at.failure("gc", "--outputs", "none")).toMatchObject({ status: 2, code: "USAGE" });
  });

  test("count the sessions that nobody went on with", async () => {
    const at = desk();
    await withSession(at);
    const none = { sessions: 0, kept: 0, objects: 0, textBytes: 0 };
    expect(at.json("gc", "--unused-days", "1")).toMatchObject({ dryRun: true, aged: none });
    expect(at.run("gc", "--unused-days", "1", "--yes").stdout).toMatch(/^sessions gone +0, unused for 1 day$/m);
    expect(at.failure("gc", "--unused-days", "0")).toMatchObject({ status: 2, code: "USAGE" });
    expect(at.run("doctor").stdout).toMatch(/^size +\d+ bytes, about \d+ bytes of it from the last 30 days$/m);
    expect(at.run("stats").stdout).toMatch(/^of it, search index +\d+$/m);
  });

  test("say what would happen, and do it with --yes", async () => {
    const at = desk();
    await withSession(at);
    const secret = "the launch code is 0000 and nobody may know it";
    at.write("a.md", `${secret}\n`);
    at.run("index", "a.md");
    const dry = at.json<ForgetReport>("forget", "a.md");
    expect(dry).toMatchObject({ dryRun: true, versions: 1, contents: 1 });
    expect(at.run("forget", "a.md").stdout).toContain("Nothing was changed: add --yes to do it.\n");
    expect(at.run("show", "a.md").stdout).toBe(`${secret}\n`);
    const done = at.run("forget", "a.md", "--yes");
    expect(done.status).toBe(0);
    expect(done.stdout).toMatch(/^gone +1 object$/m);
    expect(at.run("show", "a.md").stdout).toBe("");
    expect(at.failure("show", "a.md")).toMatchObject({ status: 1, code: "NO_CONTENT" });
    expect(readFileSync(at.store).includes(secret)).toBe(false);
    // What was forgotten is not stored again, and nothing else suffers for it.
    at.write("b.md", "b");
    expect(at.json("index", ".")).toMatchObject({
      summary: { created: 1, skipped: 1 },
      skipped: [{ path: join(at.folder, "a.md"), problem: "it was forgotten" }],
    });
    const session = at.run("forget", "session:s");
    expect(session.stdout).toContain("The session file that test keeps of s still holds the text.\n");
    expect(at.failure("forget", "nothing")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
  });

  test("say how to remove lines of what was forgotten", () => {
    const at = desk();
    const secret = "the launch code is 0000 and nobody may know it";
    at.write("a.md", `${secret}\n`);
    at.write("b.md", `somebody wrote:\n${secret}\n`);
    at.run("index", ".");
    expect(at.run("forget", "a.md").stdout).toContain("--everywhere removes them there too:\n");
    const done = at.run("forget", "a.md", "--yes").stdout;
    expect(done).toMatch(/forget these one by one, by name:\n[0-9a-f]{64}\tfile\t1 line\t\/.*\/b\.md\n/);
    expect(done).not.toContain("--everywhere");
    const again = at.run("forget", "a.md", "--everywhere", "--yes").stdout;
    expect(again).toContain("It has no lines to look for in others: what was forgotten before has none left.\n");
    expect(at.run("forget", "b.md", "--everywhere", "--yes").stdout).not.toContain("no lines");
    expect(readFileSync(at.store).includes(secret)).toBe(false);
  });

  test("give bytes before and after", () => {
    const at = withTwoVersions();
    expect(at.json("gc")).toMatchObject({ dryRun: true, contents: 0, bytesBefore: expect.any(Number) });
    expect(at.run("gc").stdout).toContain("Nothing was changed: add --yes to do it.\n");
    expect(at.json("gc", "--yes")).toMatchObject({ dryRun: false, bytesAfter: expect.any(Number) });
    expect(at.run("show", "a.md@-1").stdout).toBe("one\ntwo\n");
  });
});

describe("backup", () => {
  test("makes a copy that goes on as the store", () => {
    const at = withTwoVersions();
    const made = at.json<{ versions: number; path: string }>("backup", "copy.sqlite");
    expect(made).toMatchObject({ versions: 2, path: "copy.sqlite", bytes: expect.any(Number) });
    const copy = ["--store", join(at.folder, "copy.sqlite")];
    expect(at.run("show", "a.md@-1", ...copy).stdout).toBe("one\ntwo\n");
    expect(at.run("doctor", "--deep", ...copy).stdout).toMatch(/\nnothing is wrong, but no host loads it\n$/);
    expect(at.run("backup", "copy.sqlite").stdout).toMatch(/^wrote 2 versions up to transaction 2: \d+ bytes\n$/);
    expect(at.failure("backup", "no/folder/copy.sqlite")).toMatchObject({ status: 1, code: "FILE" });
    const taken = `palimpsest: cannot create \`${at.store}\`: it is a database, or belongs to one\n`;
    expect(at.run("backup", at.store).stderr).toBe(taken);
    expect(readdirSync(at.folder).filter((name) => name.endsWith(".new"))).toEqual([]);
  });
});

describe("doctor", () => {
  test("does not call a machine well whose store is gone", () => {
    const at = withTwoVersions();
    rmSync(at.store);
    expect(at.failure("doctor")).toMatchObject({ status: 1, code: "STORE_UNAVAILABLE" });
    rmSync(`${at.store}-ack`);
    expect(at.run("doctor")).toMatchObject({ status: 0 });
    symlinkSync(join(at.folder, "nowhere"), at.store);
    expect(at.failure("doctor")).toMatchObject({ status: 1 });
  });

  test("says that nothing is wrong, and what it checked", () => {
    const at = withTwoVersions();
    const { status, stdout } = at.run("doctor");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^versions +2$/m);
    expect(stdout).toMatch(/\nnothing is wrong, but no host loads it\n$/);
    const store = { healthy: true, damaged: false, asOf: 2, findings: [] };
    expect(at.json("doctor")).toMatchObject({ healthy: true, store, installation: { findings: [] } });
    expect(at.failure("doctor", "--set-aside")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
    expect(at.failure("doctor", "--force")).toMatchObject({ status: 2, code: "USAGE" });
  });

  test("leaves a file alone that is not a store", () => {
    const at = withTwoVersions();
    const notes = `${at.store}-notes.txt`;
    writeFileSync(notes, "my notes\n", { mode: 0o600 });
    for (const command of [["doctor"], ["doctor", "--set-aside"], ["sessions"]]) {
      const { status, code, message } = at.failure(...command, "--store", notes);
      expect({ status, code }).toEqual({ status: 1, code: "STORE_CORRUPT" });
      expect(message).toContain("is not a store");
    }
    expect(readFileSync(notes, "utf8")).toBe("my notes\n");
  });

  test("what is damaged is left out of an archive, and said", () => {
    const at = withTwoVersions();
    const whole = join(at.folder, "whole.jsonl");
    expect(at.run("export", whole).status).toBe(0);
    const database = new DatabaseSync(at.store);
    database.exec("UPDATE version SET fields = '{}' WHERE tx_id = 1");
    database.close();
    const rest = at.run("export", join(at.folder, "rest.jsonl"));
    expect([rest.status, rest.stdout]).toEqual([1, expect.stringMatching(/^wrote 1 object, 1 version, /)]);
    expect(rest.stderr).toMatch(/^palimpsest: left out \S+a\.md: /);
    // As `doctor` advises.
    expect(at.run("import", whole).stdout).toContain("1 version made whole");
    expect(at.run("doctor").status).toBe(0);
  });

  test("names the damage, exits with 1, and sets the store aside", () => {
    const at = withTwoVersions();
    const database = new DatabaseSync(at.store);
    database.exec("UPDATE version SET content_hash = randomblob(32) WHERE tx_id = 1");
    database.close();
    const { status, stdout } = at.run("doctor");
    expect(status).toBe(1);
    expect(stdout).toMatch(/^version [0-9a-f]{64}@1: /m);
    const { stdout: json } = at.run("doctor", "--json");
    expect(JSON.parse(json)).toMatchObject({ healthy: false, store: { healthy: false, damaged: true } });
    const { setAside } = at.json<{ setAside: string }>("doctor", "--set-aside");
    expect(setAside).toBe(`${at.store}.corrupt-1`);
    expect([existsSync(setAside), existsSync(at.store)]).toEqual([true, false]);
    expect(at.failure("doctor", "--store", at.store)).toMatchObject({ status: 1, code: "STORE_UNAVAILABLE" });
  });
});
