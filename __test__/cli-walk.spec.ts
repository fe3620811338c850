// Forty commands on a terminal, wrong ones among them, with all that they print: cli-walk.txt beside this file is to be read by somebody
// who has never seen the product. `vitest -u` writes it anew.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { openSession, openStore } from "../index.js";
import { pinnedNode } from "../scripts/setup.js";
import { type Desk, desk, program } from "./command.ts";
import { temporaryFolder } from "./e2e/support.ts";
import { patient, user } from "./sessions.ts";

const missingTerminal =
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") !== true;

/** What a person types, in this order. */
const typed = `
palimpsest
palimpsest sesions
palimpsest sessions
palimpsest show t1
palimpsest index notes.md src
palimpsest objects
palimpsest sessions --limit 1
palimpsest sessions --limit many
palimpsest objects --type file
palimpsest objects --query "tool = bash"
palimpsest objects --query "tols = bash"
palimpsest show t1 --session latest
palimpsest show t1
palimpsest show t9 --session latest
palimpsest show src/main.rs
palimpsest show src/main.rs --lines 2-3
palimpsest show src/main.rs --lines 90-99
palimpsest show chat:walk
palimpsest history src/main.rs
palimpsest diff src/main.rs
palimpsest diff src/main.rs @-9
palimpsest history c2
palimpsest links notes.md
palimpsest links src/main.rs --back
palimpsest expand notes.md
palimpsest search greeting
palimpsest search zebra
palimpsest name src/main.rs entry
palimpsest show entry --lines 1
palimpsest describe entry --summary "Where the program starts"
palimpsest context latest --call 2
palimpsest context latest --why t1
palimpsest context latest --call 7
palimpsest ledger latest
palimpsest ledger latest --calls
palimpsest ledger nobody
palimpsest stats
palimpsest backup copy.sqlite
palimpsest export all.jsonl
palimpsest import all.jsonl
palimpsest forget t1
palimpsest forget src/main.rs
palimpsest gc
palimpsest doctor
palimpsest replay nothing.jsonl
palimpsest memory
`
  .trim()
  .split("\n");

/** A session that reads and changes a file and runs a command; made as the first commands say that there is none. */
async function playSession(at: Desk): Promise<void> {
  at.write("notes.md", "# Notes\n\nThe entry is [[src/main.rs]]. #work\n");
  const path = "src/main.rs";
  at.write(path, 'fn main() {\n    println!("greeting");\n}\n');
  const store = await openStore({ path: at.store });
  // Whether a tracker sees a change before the call that brings it would count in the transactions.
  const settings = { ...patient, track: false };
  const session = await openSession(store, { harness: "pi", sessionId: "walk", cwd: at.folder, settings });
  const call = (id: string, name: string, args: object) => ({ type: "toolCall", id, name, arguments: args });
  const answer = (at: number, ...content: object[]) => ({ role: "assistant", content, timestamp: at });
  const result = (toolCallId: string, toolName: string, text: string, timestamp: number) =>
    ({
      role: "toolResult",
      toolCallId,
      toolName,
      isError: false,
      content: [{ type: "text", text }],
      timestamp,
    }) as const;
  const messages = [user("Change the greeting, please.")];
  await session.transformContext(messages);
  messages.push(answer(2, call("c1", "read", { path })) as never);
  messages.push(result("c1", "read", 'fn main() {\n    println!("greeting");\n}\n', 3) as never);
  await session.transformContext(messages);
  at.write(path, 'fn main() {\n    println!("hello");\n}\n');
  messages.push(answer(4, call("c2", "edit", { path, oldText: "greeting", newText: "hello" })) as never);
  messages.push(result("c2", "edit", `Successfully replaced text in ${path}.`, 5) as never);
  messages.push(answer(6, call("c3", "bash", { command: "cargo run" })) as never);
  messages.push(result("c3", "bash", "hello\n", 7) as never);
  await session.transformContext(messages);
  await session.close();
  await store.close();
}

/** A table by its first column: objects come by their IDs, which are other ones in another folder. */
function sorted(text: string): string {
  const [heading, ...rows] = text.split("\n");
  return [heading, ...rows.filter((row) => row !== "").sort(), ""].join("\n");
}

/** A text without what differs from run to run. */
function steady(text: string, at: Desk): string {
  return (
    text
      .replaceAll(join(at.folder, ".."), "~")
      .replaceAll(/\d+\.\d+\.\d+(?=,? |:|$)/gm, "VERSION")
      .replaceAll(/\b(linux|darwin) (x64|arm64)\b/g, "SYSTEM")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: our own styles
      .replaceAll(/\u001b\[\d+m/g, "")
      .replaceAll(/\b[0-9a-f]{64}\b/g, "HASH")
      .replaceAll(/\b[0-9a-f]{12}\b/g, "ID")
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?\b/g, "ID")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
      .replaceAll(/\d+(\.\d+)? (ms|s)\b( ago)?/g, "N s$3")
      .replaceAll(/[\d,.]+ ?([kM]B|bytes)\b/g, "N $1")
      // How wide columns are follows from the folder.
      .replaceAll(/(?<=\S) {2,}/g, "  ")
  );
}

test.skipIf(missingTerminal)("forty commands say what they do", { timeout: 180_000 }, async () => {
  const at = desk();
  const { HOME, PI_CODING_AGENT_DIR } = at.env;
  // A machine without Pi, on which the command is installed.
  const programs = temporaryFolder();
  writeFileSync(join(programs, "palimpsest"), "");
  const env = {
    PATH: [programs, "/usr/bin", "/bin"].join(delimiter),
    HOME,
    PI_CODING_AGENT_DIR,
    TERM: "xterm",
    SHELL: "/bin/sh",
    COLUMNS: "120",
    TZ: "UTC",
  };
  const shown: string[] = [];
  for (const [index, line] of typed.entries()) {
    if (index === 4) {
      await playSession(at);
    }
    const command = line.replace(/^palimpsest/, `'${pinnedNode()}' '${program}'`);
    const options = { cwd: at.folder, env, encoding: "utf8", timeout: 50_000, input: "" } as const;
    const { stdout, status } = spawnSync("script", ["-qec", `stty cols 120; ${command}`, "/dev/null"], options);
    const code = status === 0 ? "" : `(exit code ${status})\n`;
    const text = stdout.replace(/^\^D[\b]*/, "").replaceAll(/\r+\n/g, "\n");
    shown.push(`$ ${line}\n${/^palimpsest (objects|links .* --back)/.test(line) ? sorted(text) : text}${code}`);
  }
  await expect(steady(shown.join("\n"), at)).toMatchFileSnapshot("cli-walk.txt");
});
