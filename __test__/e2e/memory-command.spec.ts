// `/memory` in the real Pi, in all modes but the terminal, whose screens `terminal.spec.ts` and this file's last test look at.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runPi, runPiJson, startPiRpc } from "../../scripts/lib/pi.js";
import { keptFolder } from "../kept.ts";
import { extension, missing, said, start } from "./support.ts";
import { terminal } from "./terminal.ts";

type Places = Awaited<ReturnType<typeof start>>["sandbox"];

function seed({ projectDir }: Places, file: string, text: string): string {
  const path = join(projectDir, ".pi", "memory", file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const done = Array.from({ length: 6 }, () => ({ text: "The certificate had expired." }));

test("/memory shows, searches, stages, flushes, verifies, toggles", async () => {
  const { model, sandbox } = await start(done);
  const index = seed(sandbox, "MEMORY.md", "# Memory\n\n- the linker is mold\n- see `notes.txt`\n");
  seed(sandbox, "archive/old.md", "- the linker was lld\n");
  writeFileSync(join(sandbox.projectDir, "notes.txt"), "one\n");
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("why does the deployment fail?");
  const overview = await said(pi, "/memory");
  expect(overview).toMatch(
    /^memory {4}on · 2 pages, 2 in the system prompt, \d+ of 4,096 tokens \([\d,]+ with its rules, \d+ bytes\)$/m,
  );
  expect(overview).toContain("archive/old.md");
  expect(await said(pi, "/memory pages")).toMatch(
    /project MEMORY\.md:3 {2}fact {2}full, \d+ tokens .*the linker is mold/,
  );
  const recalled = await said(pi, "/memory recall which linker");
  expect(recalled).toMatch(/project MEMORY\.md:3 · Memory\n +3 - the linker is mold/);
  expect(recalled).toContain("project archive/old.md:1 · archived");
  expect(await said(pi, "/memory recall haystack")).toMatch(/^no_match: /);
  // What this session said is no past one.
  expect(await said(pi, "/memory recall certificate --sessions")).toMatch(/^no_match: /);
  expect(await said(pi, "/memory remember project CI runs on Mondays")).toMatch(
    /^Staged as w1 for project memory: `\/memory flush`/,
  );
  expect(await said(pi, "/memory waiting")).toContain("CI runs on Mondays");
  expect(await said(pi, "/memory flush")).toMatch(/^project: w1 is in MEMORY\.md:\d+ · CI runs on Mondays$/);
  expect(readFileSync(index, "utf8")).toContain("- CI runs on Mondays\n");
  await pi.prompt("go on");
  expect(JSON.stringify(model.requests.at(-1)?.body.messages)).toContain("CI runs on Mondays");
  writeFileSync(join(sandbox.projectDir, "notes.txt"), "two\n");
  expect(await said(pi, "/memory verify")).toMatch(
    /stale [0-9a-f]{12} · project MEMORY\.md:4 · - see `notes\.txt`\n {2}`notes\.txt` changed/,
  );
  expect(await said(pi, "/memory stale")).toMatch(
    /\n {2}`notes\.txt` changed, and no longer says what the entry says:\n {4}@@ -1 \+1 @@\n {4}-one\n {4}\+two\n/,
  );
  expect(await said(pi, "/memory traces")).toMatch(/flush +project: w1 committed/);
  expect(await said(pi, "/memory faults")).toMatch(/^flush miss +0 in this session/m);
  expect(await said(pi, "/memory off")).toMatch(/^Memory is off in this session/);
  expect(await said(pi, "/memory off")).toBe("Memory is off in this session already.");
  await pi.prompt("and without?");
  const system = (body: { messages: { role: string; content: unknown }[] }) =>
    JSON.stringify(body.messages.filter(({ role }) => role === "system" || role === "developer"));
  expect(system(model.requests.at(-1)?.body as never)).not.toContain("the linker is mold");
  expect(await said(pi, "/memory")).toMatch(
    /^memory {4}off here: the model sees none\. `\/memory on` turns it on again$/m,
  );
  expect(await said(pi, "/memory on")).toMatch(/^Memory is on again/);
  await pi.prompt("and with?");
  expect(system(model.requests.at(-1)?.body as never)).toContain("the linker is mold");
  expect(await said(pi, "/memory frobnicate")).toMatch(
    /^`\/memory frobnicate` is not known\. `\/memory` takes:\noverview /,
  );
  expect(await said(pi, "/memory recall")).toBe("Which one? `/memory recall TEXT`");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });

  const next = startPiRpc(sandbox, ["-e", extension]);
  expect(await said(next, "/memory recall why did the deployment fail --sessions")).toMatch(
    /session:\S+, message [01]/,
  );
  expect(await next.close()).toMatchObject({ code: 0, stderr: "" });
});

test("an untrusted project is not read, and recall is denied", async () => {
  const { sandbox } = await start(done);
  seed(sandbox, "MEMORY.md", "- a needle of the project\n");
  const pi = startPiRpc(sandbox, ["-e", extension, "--no-approve"]);
  await pi.prompt("hello");
  expect(await said(pi, "/memory")).toMatch(
    /^project {3}\S+\/\.pi\/memory · not looked at: this project is not trusted$/m,
  );
  expect(await said(pi, "/memory recall needle")).toMatch(/^no_match: /);
  expect(await said(pi, "/memory recall needle --project")).toMatch(
    /^denied: .*\nNot searched: memory of scope `project` is not searched/,
  );
  expect(await said(pi, "/memory remember project x")).toContain("the project is not trusted");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(existsSync(keptFolder(sandbox))).toBe(false);
});

test("/memory answers in print and json mode, with no session too", async () => {
  const { model, sandbox } = await start(done);
  seed(sandbox, "MEMORY.md", "- the linker is mold\n");
  const printed = await runPi(sandbox, ["-e", extension, "-p", "/memory recall linker"]);
  expect(printed).toMatchObject({ code: 0, stdout: "" });
  expect(printed.stderr).toContain("project MEMORY.md:1\n    1 - the linker is mold");
  const json = await runPiJson(sandbox, ["-e", extension, "/memory pages"]);
  expect(json.stderr).toContain("the linker is mold");
  const off = await runPi(sandbox, ["-e", extension, "-p", "/memory recall linker --sessions", "--no-context"]);
  expect(off.stderr).toContain("Not searched: past sessions are not searched: there is no store");
  expect(model.requests).toHaveLength(0);
});

test.skipIf(missing("tmux"))("a person sees completions, and a long answer in a panel", async () => {
  const { sandbox } = await start(done);
  seed(sandbox, "MEMORY.md", `# Memory\n\n${Array.from({ length: 30 }, (_, at) => `- fact number ${at}\n`).join("")}`);
  const pi = terminal(sandbox);
  await pi.shows(/palimpsest on/);
  pi.type("/memory re");
  expect(await pi.shows(/remember.*stage an entry/)).toMatch(/recall.*search memory and its archive/);
  pi.type("member pr");
  await pi.shows(/project.*the project's, in its repository/);
  pi.press("C-u");
  await pi.command("/memory recall fact number seven");
  const shown = await pi.shows(/Palimpsest · \/memory recall fact number seven/);
  expect(shown).toMatch(/project MEMORY\.md:\d+ · Memory\n +\d+ - fact number/);
  expect(shown).toContain("escape closes");
  pi.press("Escape");
  await pi.lacks(/escape closes/);
  await pi.command("/memory off");
  await pi.shows(/Memory is off in this session: the next prompt has none of it/);
});
