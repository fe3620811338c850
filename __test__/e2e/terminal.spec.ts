// What Pi's terminal shows, under tmux: the person's screen, read as text.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { missing, start } from "./support.ts";
import { terminal } from "./terminal.ts";

test.skipIf(missing("tmux"))("a first session: notice, status, completions, off and on", async () => {
  const { sandbox } = await start(
    ({ n }) => (n === 0 ? { calls: [{ name: "read", args: { path: "a.txt" } }] } : { text: "Hello." }),
    { files: { "a.txt": "one\n" } },
  );
  const pi = terminal(sandbox);
  await pi.shows(/^palimpsest on$/m);
  await pi.shows(/Palimpsest is on: .*\n.*this machine/);
  pi.type("hi");
  pi.press("Enter");
  expect(await pi.shows(/Hello\./)).not.toContain("this machine");
  pi.type("/context o");
  expect(await pi.shows(/turn it off in this session/)).toMatch(/objects +list the files and outputs/);
  pi.press("C-u");
  pi.type("/context show f");
  expect(await pi.shows(/f1 +.*a\.txt/)).toContain("/context show");
  // A key alone would begin an escape sequence with what is typed next.
  pi.press("Escape");
  await pi.lacks(/f1 +.*a\.txt/);
  pi.press("C-u");
  await pi.command("/context show a.txt");
  await pi.shows(/^ *one$/m);
  pi.type("/context pin ");
  pi.press("Enter");
  await pi.shows(/Which one\? `\/context pin NAME`/);
  pi.type("/context off");
  pi.press("Enter");
  await pi.shows(/^palimpsest off: you turned it off here$/m);
  await pi.command("/context on");
  await pi.shows(/^palimpsest on$/m);
  await pi.shows(/Palimpsest is on again in this session\./);
});

test.skipIf(missing("tmux"))("a long answer of /context opens a panel that scrolls", async () => {
  const { sandbox } = await start(
    ({ n }) => (n < 30 ? { calls: [{ name: "bash", args: { command: `seq ${n} 40` } }] } : { text: "Done." }),
    { files: { "a\tb \u001b[31m.txt": "one\n" }, contextWindow: 200_000 },
  );
  const pi = terminal(sandbox, { columns: 80, rows: 24 });
  await pi.shows(/^palimpsest on$/m);
  await pi.command("go");
  await pi.shows(/Done\./);
  const width = async (columns: number, what: RegExp) => {
    const screen = await pi.shows(what);
    expect(screen.split("\n").filter((line) => line.length > columns)).toEqual([]);
    return screen;
  };
  await pi.command("/context");
  const overview = await width(
    80,
    /^ window {4}[\d.]+k tokens in the last request, of 200k that the model takes;\s+plain\s+Pi/m,
  );
  expect(overview).toMatch(/^─+\n Palimpsest · \/context\n window /m);
  expect(overview).toMatch(/^ {11}\S.* \(\d+ %\)/m);
  expect(overview).toMatch(/ escape closes\b/);
  pi.press("Escape");
  await pi.lacks(/escape closes/);
  await pi.command("/context objects");
  await width(80, /^ t1 .*\n[\s\S]*lines 1-14 of 30 · escape closes/m);
  pi.press("NPage");
  await width(80, /lines 15-28 of 30/);
  pi.press("Down");
  await width(80, /lines 16-29 of 30/);
  pi.press("NPage", "NPage");
  await width(80, /^ t30 [\s\S]*lines 17-30 of 30/m);
  pi.press("Up");
  await width(80, /lines 16-29 of 30/);
  pi.press("Escape");
  await pi.lacks(/escape closes/);
  pi.resize(50);
  await pi.command("/context help");
  await width(50, /`\/context` takes:\n overview\n {3}what is in the window, what it costs and saves\n/);
  pi.press("Enter");
  await pi.lacks(/escape closes/);
  await pi.command("/context settings");
  await width(50, /deadlineSeconds +30 {2}\(set by your file,/);
  pi.press("Escape");
  await pi.lacks(/escape closes/);
  pi.resize(110);
  await pi.command("/context layout");
  await width(110, /Which one\? `\/context layout log\|pools`/);
});

test.skipIf(missing("tmux"))("a panel shows CRLF text and long commands row by row", async () => {
  const text = Array.from({ length: 8 }, (_, at) => `${at + 1}\ta line of Windows\r\n`).join("");
  const { sandbox } = await start(
    ({ n }) => (n === 0 ? { calls: [{ name: "read", args: { path: "w.txt" } }] } : { text: "Done." }),
    { files: { "w.txt": text } },
  );
  const pi = terminal(sandbox, { columns: 80, rows: 40 });
  await pi.shows(/^palimpsest on$/m);
  await pi.command("go");
  await pi.shows(/Done\./);
  await pi.command("/context show f1");
  const rows = Array.from({ length: 8 }, (_, at) => ` ${at + 1} {3}a line of Windows\n`).join("");
  await pi.shows(new RegExp(`^─+\n Palimpsest · /context show f1\n${rows} escape closes\n─+$`, "m"));
  pi.press("Escape");
  await pi.lacks(/escape closes/);
  pi.paste("/context nothing\nof the kind");
  pi.press("Enter");
  await pi.shows(/^─+\n Palimpsest · \/context nothing of the kind\n `\/context nothing` is not known\./m);
});

test.skipIf(missing("tmux"))("the status line says why it is off, also after --continue", async () => {
  const { sandbox } = await start(() => ({ text: "Hello." }));
  const settings = join(sandbox.agentDir, "palimpsest.json");
  const working = readFileSync(settings, "utf8");
  const first = terminal(sandbox, { columns: 80, rows: 24 });
  await first.shows(/^palimpsest on$/m);
  await first.command("hi");
  await first.shows(/Hello\./);
  await first.quit();
  writeFileSync(settings, '{ "layout": ');
  const pi = terminal(sandbox, { columns: 80, rows: 24, args: ["--continue"] });
  const off = /^palimpsest off: palimpsest\.json: not JSON: EOF while parsing a value/m;
  await pi.shows(off);
  await pi.command("hi");
  await pi.shows(off);
  await pi.command("/context");
  await pi.shows(
    /\(INVALID_SETTINGS\);\s+hint:\s+`docs\/settings\.md`[\s\S]*To turn it on: put that right, then `\/context on`/,
  );
  writeFileSync(settings, working);
  await pi.command("/context on");
  await pi.shows(/^palimpsest on$/m);
});
