// Runs the `palimpsest` command in a process of its own, on a store and an agent folder that are gone when the test has
// finished.
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openSession, openStore } from "../index.js";
import { pinnedNode, root } from "../scripts/setup.js";
import { temporaryFolder } from "./e2e/support.ts";
import { patient, step, user } from "./sessions.ts";

export const program = join(root, "bin", "palimpsest.js");

export interface Ran {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface Desk {
  /** The working folder, as the store names it. */
  folder: string;
  store: string;
  env: NodeJS.ProcessEnv;
  /** Writes a file of the folder. */
  write(name: string, text: string | Buffer): string;
  run(...args: string[]): Ran;
  /** What a command prints with `--json`; it must succeed. */
  json<T = unknown>(...args: string[]): T;
  /** The error that a command prints with `--json`, and its exit code. */
  failure(...args: string[]): {
    status: number | null;
    code: string;
    message: string;
    hint: string | null;
    candidates?: string[];
  };
}

/** A folder to work in, with a store beside it that does not exist yet. */
export function desk(): Desk {
  const home = realpathSync(temporaryFolder());
  const folder = join(home, "work");
  mkdirSync(folder);
  const store = join(home, "agent", "palimpsest", "store.sqlite");
  const env: NodeJS.ProcessEnv = { ...process.env, PI_CODING_AGENT_DIR: join(home, "agent"), HOME: home };
  delete env.PALIMPSEST_STORE;
  delete env.OPENCLAW_STATE_DIR;
  delete env.OPENCLAW_HOME;
  delete env.OPENCLAW_CONFIG_PATH;
  const run = (...args: string[]): Ran => {
    const options = { cwd: folder, env, encoding: "utf8", timeout: 50_000, maxBuffer: 1 << 28 } as const;
    const { status, stdout, stderr }: SpawnSyncReturns<string> = spawnSync(pinnedNode(), [program, ...args], options);
    return { status, stdout, stderr };
  };
  return {
    folder,
    store,
    env,
    run,
    write(name, text) {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      return path;
    },
    json(...args) {
      const { status, stdout, stderr } = run(...args, "--json");
      if (status !== 0) {
        throw new Error(`exit ${status}: ${stdout}${stderr}`);
      }
      return JSON.parse(stdout);
    },
    failure(...args) {
      const { status, stdout } = run("--json", ...args);
      return { status, ...JSON.parse(stdout).error };
    },
  };
}

/** A desk whose file `a.md` has two versions, `one` and `two` lines. */
export function withTwoVersions(): Desk {
  const at = desk();
  at.write("a.md", "one\ntwo\n");
  at.run("index", "a.md");
  at.write("a.md", "one\n2\nthree\n");
  at.run("index", "a.md");
  return at;
}

/** Plays two calls of a session into the desk's store. */
export async function withSession(at: Desk, sessionId = "s", parentSessionId?: string): Promise<void> {
  const store = await openStore({ path: at.store });
  const session = await openSession(store, {
    harness: "test",
    sessionId,
    cwd: at.folder,
    parentSessionId,
    settings: patient,
  });
  const messages = [user("Run it.")];
  await session.transformContext(messages);
  await session.transformContext([...messages, ...step(1, "done\n")]);
  await session.close();
  await store.close();
}
