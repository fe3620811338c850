// `palimpsest memory`: memory outside of a session, on real folders. The words are those of `/memory`.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { MemoryOverview, RecallAnswer } from "../index.js";
import { desk, withSession } from "./command.ts";

const index = ".pi/memory/MEMORY.md";

test("the overview lists folders, files, sizes and problems", () => {
  const at = desk();
  const empty = at.run("memory");
  expect(empty).toMatchObject({ status: 0, stderr: "" });
  expect(empty.stdout).toMatch(
    /^memory {4}on · 0 pages\ntrust {5}this project holds only what your own sessions wrote\nglobal {4}\S+\/agent\/memory does not exist yet: the first entry makes it\n/,
  );
  expect(existsSync(join(at.folder, ".pi"))).toBe(false);
  at.write(index, "# Memory\n\n- CI: green\n- [Build](build.md)\n");
  at.write(".pi/memory/build.md", "## Cache\nwarm\n");
  at.write(".pi/memory/lost.md", "- nobody leads here\n");
  at.write(".pi/memory/archive/old.md", "- stale\n");
  at.write(".pi/memory/config.json", '{ "enabeld": true }');
  const { stdout } = at.run("memory", "overview");
  expect(stdout).toMatch(/^memory {4}on · 3 pages$/m);
  expect(stdout).toMatch(/^project {3}\S+\/work\/\.pi\/memory · 4 files, 84 bytes · no page table yet$/m);
  at.write(".pi/memory/MEMORY.local.md", "- Port: 4711\n");
  expect(stdout).toMatch(/^ +MEMORY\.md · \d+ bytes, 4 lines · 2 pages$/m);
  expect(stdout).toMatch(/^ +lost\.md · .* · no index leads to it: recalled only$/m);
  expect(stdout).toMatch(/^ +archive\/old\.md · .* · archived: recalled only$/m);
  expect(stdout).toContain("`enabeld` is not a setting");
  expect(at.run("memory").stdout).toMatch(
    /^local {5}\S+\/work\/\.pi\/memory\/MEMORY\.local\.md · .* · yours, not the repository's$/m,
  );
  expect(at.run("memory").stdout).toMatch(
    /^trust {5}you have not said that you trust this project: `palimpsest memory trust`$/m,
  );
  expect(at.json<MemoryOverview>("memory").scopes.map(({ scope }) => scope)).toEqual(["global", "project", "local"]);
});

test("answers that cannot be read are named where memory is shown", () => {
  const at = desk();
  at.write(".pi/memory/MEMORY.md", "- Never push to main\n");
  expect(at.run("trust").stdout).toContain(" is trusted: .pi/memory/MEMORY.md is used there, ");
  writeFileSync(join(dirname(at.store), "trust.json"), "{");
  const { status, stdout, stderr } = at.run("memory");
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining("trust.json`: it is damaged") });
  expect(stdout).toContain("MEMORY.md");
});

test("own memory is said to be used after trust is taken back", () => {
  const at = desk();
  at.run("memory", "remember", "project", "Never push to main");
  at.run("memory", "flush");
  expect(at.run("trust").stdout).toContain("is trusted: .pi/memory/MEMORY.md");
  expect(at.run("trust", "--remove").stdout).toMatch(
    /^`\S+\/work` holds only what your own sessions wrote, which is used unasked: \.pi\/memory\/MEMORY\.md, /,
  );
  expect(at.run("memory", "trust", "--remove")).toEqual(at.run("trust", "--remove"));
});

test("a person sees which of what waits is private", () => {
  const at = desk();
  at.run("memory", "remember", "project", "CI: green");
  at.run("memory", "remember", "local", "My port: 4711");
  at.run("memory", "remember", "global", "Answers: short");
  expect(at.run("memory", "waiting").stdout).toBe(
    "g1  global   staged  Answers: short\nw1  project  staged  CI: green\nw2  local    staged  My port: 4711\n",
  );
  expect(at.run("memory", "withdraw", "w1").stdout).toBe("w1 is withdrawn: project memory stays as it is.\n");
  expect(at.run("memory", "withdraw", "g1").stdout).toBe("g1 is withdrawn: global memory stays as it is.\n");
  expect(at.run("memory", "flush").stdout).toMatch(/^local: w2 is in MEMORY\.local\.md:\d+ · My port: 4711/);
});

test("an entry is staged, listed, flushed, found and confirmed", () => {
  const at = desk();
  expect(at.run("memory", "remember", "project", "Tests need", "a running database").stdout).toMatch(
    /^Staged as w1 for project memory: `palimpsest memory flush` writes it/,
  );
  expect(at.run("memory", "waiting").stdout).toBe("w1  project  staged  Tests need a running database\n");
  expect(at.run("memory").stdout).toMatch(/^waits {5}1 entry for `palimpsest memory flush`$/m);
  const flushed = at.run("memory", "flush");
  expect(flushed).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^project: w1 is in MEMORY\.md:\d+ · Tests need/),
  });
  expect(readFileSync(join(at.folder, index), "utf8")).toContain("- Tests need a running database\n");
  expect(at.run("memory", "flush").stdout).toBe("Nothing waited.\n");
  const pages = at.run("memory", "pages").stdout;
  expect(pages).toMatch(
    /^[0-9a-f]{12} {2}project MEMORY\.md:\d+ {2}fact {2}- Tests need a running database\n1 page, \d+ tokens in full/,
  );
  const [id] = pages.split(" ");
  expect(at.run("memory", "confirm", id.slice(0, 6)).stdout).toMatch(`\`${id}\` counts as written today`);
  const found = at.run("memory", "recall", "database", "for", "tests");
  expect(found).toMatchObject({ status: 0, stderr: "" });
  expect(found.stdout).toMatch(/^project MEMORY\.md:\d+ · Notes\n +\d+ - Tests need a running database\n/);
  expect(at.run("memory", "traces").stdout).toMatch(/recall +ok · database for tests · 1 page/);
  expect(at.run("memory", "faults").stdout).toMatch(/^silent recall +0 in this session/m);
  expect(at.run("memory", "verify").stdout).toMatch(
    /^1 page in the page tables, made anew from the Markdown\.\nAll are valid/,
  );
  expect(at.run("memory", "stale").stdout).toBe("No page looks stale.\n");
});

test("what is named for another folder acts on that folder", () => {
  const at = desk();
  const other = "it's another";
  at.write(`${other}/.pi/memory/MEMORY.md`, "- a: b\n");
  const folder = "palimpsest memory --folder 'it'\\''s another'";
  expect(at.run("memory", "--folder", other).stdout).toContain(`you trust this project: \`${folder} trust\``);
  expect(at.run("memory", "--folder", other, "remember", "project", "x").stdout).toContain(`\`${folder} flush\``);
  expect(at.run("memory", "--folder", other, "flush").stdout).toContain("w1 is in MEMORY.md");
});

test("all marked pages that cite a file are confirmed at once", () => {
  const at = desk();
  at.write("a b.txt", "one\n");
  at.write(index, "- A: see [a](<../../a b.txt>)\n- B: see [b](<../../a b.txt>)\n");
  at.run("memory", "verify");
  at.write("a b.txt", "two\n");
  expect(at.run("memory", "verify").stdout).toContain("confirm --all-of FILE");
  expect(at.run("memory", "confirm", "--all-of")).toMatchObject({ status: 2 });
  expect(at.run("memory", "confirm", "--all-of", "c.txt").stdout).toBe("No marked page cites `c.txt`.\n");
  expect(at.run("memory", "confirm", "--all-of", "a b.txt").stdout).toMatch(/^`\w{12}`, `\w{12}` count as written/);
  expect(at.run("memory", "verify").stdout).toContain("no cited file changed");
});

test("recall explains an empty result in words and as JSON", () => {
  const at = desk();
  at.write(index, "- a needle\n");
  expect(at.run("memory", "recall", "haystack")).toMatchObject({
    status: 0,
    stdout: "no_match: everything asked for was searched, and nothing in it matches.\n",
  });
  const unavailable = at.run("memory", "recall", "haystack", "--sessions");
  expect(unavailable.status).toBe(1);
  expect(unavailable.stdout).toMatch(
    /^unavailable: .*\nNot searched: past sessions are not searched: there is no store\n$/,
  );
  expect(at.run("memory", "recall", '"-"')).toMatchObject({ status: 1, stdout: expect.stringMatching(/^malformed: /) });
  const found = at.json<RecallAnswer>("memory", "recall", "needle", "--project");
  expect(found).toMatchObject({
    reason: "ok",
    hits: [{ scope: "project", file: "MEMORY.md", line: 1, archived: false }],
  });
  expect(at.json<RecallAnswer>("memory", "recall", "needle", "--global").reason).toBe("no_match");
});

test("past sessions are found with the message that says it", async () => {
  const at = desk();
  await withSession(at);
  const found = at.json<RecallAnswer>("memory", "recall", "what", "did", "I", "run", "--sessions");
  const [hit] = found.hits;
  expect(hit).toMatchObject({ session: expect.stringMatching(/^session:/), item: 0, file: null, line: null });
  expect(hit.lines[0].text).toBe("Run it.");
});

test("import shows another program's notes; --apply stages them", () => {
  const at = desk();
  at.write("CLAUDE.md", "# Rules\n\n- Never push to main\n- Use pnpm\n");
  const shown = at.run("memory", "import", "notes");
  expect(shown).toMatchObject({ status: 0, stderr: "" });
  expect(shown.stdout).toMatch(/^1 file read: \S+CLAUDE\.md\ntake {2}project {2}\S+:3 {2}.*Never push to main\n/);
  expect(shown.stdout).toContain("Nothing was changed. With `--apply` the 2 to take are staged.");
  expect(at.run("memory", "waiting").stdout).toBe("Nothing waits.\n");
  expect(at.run("memory", "import", "notes", "--apply").stdout).toContain(
    "2 are staged: `palimpsest memory flush` writes them.",
  );
  expect(at.run("memory", "waiting").stdout).toMatch(
    /^w1 {2}project {2}staged {2}.*Never push to main \(import from .*CLAUDE\.md:3\)/,
  );
});

test("import takes a path with blanks, and one of the home folder", () => {
  const at = desk();
  at.write("my project notes.md", "- Use pnpm\n");
  writeFileSync(join(dirname(at.folder), "home.md"), "- Use vim\n");
  for (const given of [["my project notes.md"], ['"my project notes.md"', "global"], ["~/home.md", "global"]]) {
    const { stdout } = at.run("memory", "import", ...given);
    expect(stdout).toMatch(new RegExp(`^take {2}${given[1] ?? "project"} {2}.* Use (pnpm|vim)$`, "m"));
  }
  at.write("my", "- Use ed\n");
  at.write("my project", "- Use emacs\n");
  expect(at.run("memory", "import", "my project").stdout).toMatch(/ Use emacs$/m);
});

test("traces say whose time theirs is", () => {
  const at = desk();
  at.run("memory", "remember", "project", "Never push to main");
  at.run("memory", "flush");
  const [id] = at.run("memory", "traces").stdout.split(" ");
  const { stdout } = at.run("memory", "trace", id);
  expect(stdout).toMatch(/^trace {5}\S+ · \d{4}-\d\d-\d\d \d\d:\d\d UTC · flush\n/);
  expect(stdout).toMatch(/^operations w1 · /m);
});

test("an entry has its words in their order", () => {
  const at = desk();
  for (const words of [
    ["Offset:", "-1", "in", "all"],
    ["--", "Test", "with", "--files", "first"],
  ]) {
    at.run("memory", "remember", "project", ...words);
  }
  const { stdout } = at.run("memory", "waiting");
  expect(stdout).toMatch(/ Offset: -1 in all\n.* Test with --files first\n$/);
});

test("wrong usage and refusals exit with codes of their own", () => {
  const at = desk();
  expect(at.failure("memory", "frobnicate")).toMatchObject({
    status: 2,
    message: "`frobnicate` is not a part of memory",
  });
  expect(at.failure("memory", "recall")).toMatchObject({ status: 2, code: "USAGE" });
  expect(at.failure("memory", "remember", "project", "Test", "with", "--files")).toMatchObject({
    status: 2,
    message: "`--files` is not an option of `remember`",
  });
  expect(at.failure("memory", "remember", "planet", "x")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
  const secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
  expect(at.failure("memory", "remember", "project", `token ${secret}`)).toMatchObject({ status: 1, code: "SECRET" });
  const hint = (part: string) => `\`palimpsest memory ${part}\``;
  expect(at.failure("memory", "trace", "00000000")).toMatchObject({
    status: 3,
    code: "NO_TRACE",
    hint: `${hint("traces")} lists them; the oldest are dropped`,
  });
  expect(at.failure("memory", "confirm", "00000000")).toMatchObject({
    status: 3,
    code: "NO_PAGE",
    hint: `${hint("pages")} lists them`,
  });
  expect(at.failure("memory", "take", "nobody")).toMatchObject({
    status: 3,
    hint: `${hint("take")} lists those that have memory`,
  });
  expect(at.failure("memory", "flush", "--project")).toMatchObject({
    status: 2,
    message: "there is one word too many: `--project`",
  });
  for (const part of ["accept", "withdraw"]) {
    expect(at.failure("memory", part, "w9")).toMatchObject({ status: 3, code: "NO_OPERATION" });
  }
  expect(at.failure("memory", "import", "none.md")).toMatchObject({
    status: 1,
    code: "FILE",
    message: "cannot read `none.md`: there is no such file",
  });
  expect(existsSync(join(at.folder, ".pi"))).toBe(false);
});

test("a flush that leaves what it should write fails", () => {
  const at = desk();
  mkdirSync(join(at.folder, index), { recursive: true });
  at.run("memory", "remember", "project", "CI: green");
  expect(at.run("memory", "flush")).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^project: w1 still waits: .* it is not a regular file · CI: green\n$/),
  });
});

test("recall says so before it shows what hardly answers", () => {
  const at = desk();
  at.write(index, "- Deploys: Tuesdays, by Anna\n- Node: 22\n- Deploys: Tuesdays, by Anna #team\n");
  const weak = at.run("memory", "recall", "how", "do", "I", "deploy", "to", "kubernetes");
  expect(weak).toMatchObject({ status: 0, stdout: expect.stringMatching(/^weak: .*\nproject MEMORY\.md:1 /) });
  expect(weak.stdout).toMatch(/also project MEMORY\.md:3$/m);
  expect(at.run("memory", "recall", "what", "is", "this")).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^malformed: /),
  });
});
