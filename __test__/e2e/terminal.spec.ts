// What Pi's terminal shows, under tmux: the person's screen, read as text.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { piVersion } from "../../scripts/lib/pi.js";
import { piCli } from "../../scripts/lib/pi-versions.js";
import { pinnedNode } from "../../scripts/setup.js";
import { extension, missing, start } from "./support.ts";

interface Folders {
  dir: string;
  projectDir: string;
  env: Record<string, string>;
}

/** A Pi in a terminal of its own. */
function terminal({ dir, projectDir, env }: Folders) {
  const socket = join(dir, "tmux");
  const tmux = (...args: string[]) =>
    spawnSync("tmux", ["-S", socket, ...args], { encoding: "utf8", env: process.env });
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const command = ["env", "-i", "TERM=xterm-256color", ...settings, pinnedNode(), piCli(piVersion), "-e", extension];
  const started = tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50", "-c", projectDir, ...command);
  expect(started).toMatchObject({ status: 0, stderr: "" });
  onTestFinished(() => void tmux("kill-server"));
  return {
    /** Types a text, or presses keys by their names in tmux. */
    type: (text: string) => tmux("send-keys", "-l", text),
    press: (...keys: string[]) => tmux("send-keys", ...keys),
    /** The screen, once it shows this. */
    async shows(what: RegExp): Promise<string> {
      const deadline = Date.now() + 20_000;
      for (;;) {
        const { stdout } = tmux("capture-pane", "-p");
        if (what.test(stdout)) {
          return stdout;
        }
        if (Date.now() > deadline) {
          throw new Error(`the screen never showed ${what}:\n${stdout}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  };
}

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
