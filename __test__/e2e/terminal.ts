// Pi in a terminal of its own, under tmux: keys in, the screen out. Decides nothing about what it shows.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { piVersion } from "../../scripts/lib/pi.js";
import { piCli } from "../../scripts/lib/pi-versions.js";
import { pinnedNode } from "../../scripts/setup.js";
import { extension } from "./support.ts";

interface Folders {
  dir: string;
  projectDir: string;
  env: Record<string, string>;
}

interface Options {
  /** How the extension is loaded; none where it is installed. */
  loads?: string[];
  /** Arguments of Pi besides. */
  args?: string[];
  columns?: number;
  rows?: number;
}

let terminals = 0;

/** Starts Pi with the extension, 120 columns by 50 rows unless said otherwise. */
export function terminal({ dir, projectDir, env }: Folders, options: Options = {}) {
  const { loads = ["-e", extension], args = [], columns = 120, rows = 50 } = options;
  const socket = join(dir, `tmux-${terminals++}`);
  const tmux = (...rest: string[]) =>
    spawnSync("tmux", ["-u", "-S", socket, ...rest], { encoding: "utf8", env: process.env });
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const pi = [pinnedNode(), piCli(piVersion), ...loads, ...args];
  const command = ["env", "-i", "TERM=xterm-256color", ...settings, ...pi];
  const size = ["-x", String(columns), "-y", String(rows)];
  const started = tmux("-f", "/dev/null", "new-session", "-d", ...size, "-c", projectDir, ...command);
  expect(started).toMatchObject({ status: 0, stderr: "" });
  onTestFinished(() => void tmux("kill-server"));
  const screen = () => tmux("capture-pane", "-p").stdout;
  // What stands in the editor: between the last two rules, rows of a long text put together.
  const inEditor = (text: string) =>
    (screen().split(/^─+$/m).at(-2) ?? "").replaceAll(/\s/g, "") === text.replaceAll(/\s/g, "");

  async function until(isDone: () => boolean, otherwise: () => string): Promise<void> {
    const deadline = Date.now() + 20_000;
    while (!isDone()) {
      if (Date.now() > deadline) {
        throw new Error(otherwise());
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  return {
    /** Types a text, or presses keys by their names in tmux. */
    type: (text: string) => tmux("send-keys", "-l", text),
    /** Pastes a text, as one of several lines. */
    paste: (text: string) => {
      tmux("set-buffer", text);
      tmux("paste-buffer", "-p");
    },
    press: (...keys: string[]) => tmux("send-keys", ...keys),
    resize: (width: number) => tmux("resize-window", "-x", String(width)),
    /** The screen, once it shows this. */
    async shows(what: RegExp): Promise<string> {
      let shown = "";
      const isThere = () => {
        shown = screen();
        return what.test(shown);
      };
      await until(isThere, () => `the screen never showed ${what}:\n${shown}`);
      return shown;
    },
    /** Waits until the screen does not show this. */
    async lacks(what: RegExp): Promise<void> {
      await until(
        () => !what.test(screen()),
        () => `the screen shows ${what} still:\n${screen()}`,
      );
    },
    /** Types a command and sends it. Waits until the editor is empty again: Pi empties it late, and takes what was typed since with it. */
    async command(text: string): Promise<void> {
      tmux("send-keys", "-l", text);
      await until(
        () => inEditor(text),
        () => `nobody took ${text}:\n${screen()}`,
      );
      tmux("send-keys", "Enter");
      await until(
        () => !inEditor(text),
        () => `nobody ran ${text}:\n${screen()}`,
      );
    },
    /** Ends Pi as a person does, and waits until it has ended. */
    async quit(): Promise<void> {
      tmux("send-keys", "C-d");
      await until(
        () => tmux("has-session").status !== 0,
        () => `Pi did not end:\n${screen()}`,
      );
    },
  };
}

export type Terminal = ReturnType<typeof terminal>;

/** Goes to a place of the tree that a search finds, with a summary of what is left or without. */
export async function goTo(pi: Terminal, place: string, summarize: boolean): Promise<void> {
  await pi.command("/tree");
  await pi.shows(/Session Tree/);
  pi.type(place);
  await pi.shows(new RegExp(`› .*${place}`));
  pi.press("Enter");
  await pi.shows(/→ No summary/);
  pi.press(...(summarize ? ["Down", "Enter"] : ["Enter"]));
  await pi.lacks(/No summary/);
  await pi.shows(summarize ? /^ Branch summary \(/m : /Navigated to selected point/);
}
