// The ways through a session as a person goes them in Pi's terminal, under tmux, with Palimpsest on and with it off: the model sees the
// same, but for lines that stand for content.
import { expect, test } from "vitest";
import type { Sandbox } from "../../scripts/lib/pi.js";
import { missing, numbered } from "./support.ts";
import { goTo, type Terminal, terminal } from "./terminal.ts";
import { allText, collapsing, expectAllFaithful, expectRecorded, hasTools, obedient, played } from "./wires.ts";

const timeout = 120_000;
const files = Object.fromEntries([..."abcdef"].map((name) => [`${name}.txt`, numbered(name)]));

/** Sends what is not a command of Pi's. */
async function say(pi: Terminal, text: string): Promise<void> {
  pi.type(text);
  const words = text.replace(/^!+/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  await pi.shows(new RegExp(words));
  pi.press("Enter");
}

/** Sends a prompt, and waits until it is done. */
async function prompt(pi: Terminal, name: string, commands: string): Promise<void> {
  await say(pi, `do [${name}] ${commands}`);
  await pi.shows(new RegExp(`Did ${name}\\.`));
}

async function walk(sandbox: Sandbox): Promise<string> {
  const pi = terminal(sandbox);
  await pi.shows(/^palimpsest o/m);
  await prompt(pi, "one", "read a.txt; bash seq 1 300");
  await say(pi, "!echo for both of us");
  await pi.shows(/^ for both of us$/m);
  await say(pi, "!!echo for me alone");
  await pi.shows(/^ for me alone$/m);
  await prompt(pi, "two", "read b.txt; read a.txt; bash seq 1 300");
  await say(pi, "do [stopped] read c.txt & bash sleep 30");
  await pi.shows(/\$ sleep 30[\s\S]*Elapsed/);
  pi.press("Escape");
  await pi.shows(/aborted/i);
  await say(pi, "do [busy] bash sleep 2; read c.txt");
  await pi.shows(/\$ sleep 2$/m);
  await say(pi, "do [steered] read d.txt");
  await pi.shows(/Did steered\./);
  await goTo(pi, "Did one", false);
  await prompt(pi, "beside", "read e.txt; bash seq 1 300");
  await goTo(pi, "Did one", true);
  await prompt(pi, "left", "read f.txt; read a.txt");
  await pi.command("/compact");
  await pi.shows(/^ Compacted from /m);
  await prompt(pi, "compacted", "read a.txt; bash seq 300 600");
  await pi.command("/clone");
  await pi.shows(/Cloned to new session/);
  await prompt(pi, "cloned", "read b.txt");
  await pi.command("/new");
  await pi.shows(/New session started/);
  await prompt(pi, "new", "read a.txt; read a.txt");
  const screen = await pi.shows(/^palimpsest o/m);
  await pi.quit();
  return screen;
}

test.skipIf(missing("tmux"))("a walk through all of them", { timeout }, async () => {
  const settings = { compaction: { keepRecentTokens: 1 } };
  const run = (palimpsest: Record<string, unknown>) =>
    played("anthropic", obedient(), walk, { files, palimpsest, settings });
  const plain = await run({ enabled: false });
  const ours = await run(collapsing);
  expect(plain.result).toMatch(/^palimpsest off: /m);
  expect(ours.result).toMatch(/^palimpsest on/m);
  expect(ours.requests.map(hasTools)).toEqual(plain.requests.map(hasTools));
  expect(expectAllFaithful(plain.requests, ours.requests).replaced).toBeGreaterThan(2);
  expect(allText(ours.requests.at(-1))).toContain("do [new]");
  const said = ours.requests.map(allText).join("\n");
  expect(said).toContain("for both of us");
  expect(said).not.toContain("for me alone");
  await expectRecorded(ours.sandbox);
});
