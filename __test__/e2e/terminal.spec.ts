// What Pi's terminal shows, under tmux: the person's screen, read as text.
import { expect, test } from "vitest";
import { missing, start } from "./support.ts";
import { terminal } from "./terminal.ts";

test.skipIf(missing("tmux"))("the first session: notice, status line, completions, off and on", async () => {
  const { sandbox } = await start(
    ({ n }) => (n === 0 ? { calls: [{ name: "read", args: { path: "a.txt" } }] } : { text: "Hello." }),
    { files: { "a.txt": "one\n" } },
  );
  const pi = terminal(sandbox);
  const first = await pi.shows(/^palimpsest on$/m);
  expect(first).toMatch(/Palimpsest is on: .*\n.*this machine/);
  pi.type("hi");
  pi.press("Enter");
  await pi.shows(/Hello\./);
  pi.type("/context o");
  expect(await pi.shows(/turn it off in this session/)).toMatch(/objects +list the files and outputs/);
  pi.press("C-u");
  pi.type("/context show ");
  expect(await pi.shows(/f1 +.*a\.txt/)).toContain("/context show");
  pi.press("C-u");
  for (const [command, line] of [
    ["off", /^palimpsest off: you turned it off here$/m],
    ["on", /^palimpsest on$/m],
  ] as const) {
    pi.type(`/context ${command}`);
    await pi.shows(new RegExp(`/context ${command}\\b`));
    // The list of completions takes a key of its own.
    pi.press("Escape");
    pi.press("Enter");
    await pi.shows(line);
  }
  await pi.shows(/Palimpsest is on again in this session\./);
});
