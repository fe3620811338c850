// Runs the real Pi in a sandbox of its own: agent folder, home and project in one temporary folder, no network,
// a deadline on everything. Must not reach the user's own Pi settings, keys or sessions.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pinnedNode } from "../setup.js";
import { currentPi, piCli } from "./pi-versions.js";
import { bareEnv, launch, writeJson } from "./processes.js";

/**
 * @typedef {object} Sandbox
 * @property {string} dir everything below lies here
 * @property {string} agentDir Pi's agent folder
 * @property {string} projectDir the working folder
 * @property {Record<string, string>} env the whole environment of the child
 * @property {() => void} remove deletes the folder
 *
 * @typedef {object} RunOptions
 * @property {number} [deadlineMs] default 60,000; the process is killed when it passes
 * @property {Record<string, string>} [env] added to the sandbox's environment
 * @property {string} [cwd] default: the project folder
 * @property {string} [node] the Node that runs Pi; default: the pinned one
 * @property {string[]} [launcher] a command that runs the rest of its arguments, such as `setpriv --reuid=…`
 *
 * @typedef {import("./processes.js").Finished} Finished
 * @typedef {{ type: string, [key: string]: unknown }} RpcRecord
 */

const defaultDeadlineMs = 60_000;

/** The version of Pi that runs: `PALIMPSEST_TEST_PI`, else the one that users run. */
export const piVersion = process.env.PALIMPSEST_TEST_PI ?? currentPi;

/**
 * Creates a sandbox whose only model is the one at `baseUrl`.
 *
 * @param {object} options
 * @param {string} options.baseUrl of a scripted model
 * @param {Record<string, string>} [options.files] project files, path to content
 * @param {Record<string, unknown>} [options.settings] over the sandbox's Pi settings
 * @param {Record<string, unknown>} [options.palimpsest] settings of Palimpsest; default OpenAI's prices, since the model would pass
 *   for a local one
 * @param {number} [options.contextWindow] of the model, in tokens; default 1,000,000
 * @param {string} [options.parent] folder to create the sandbox in; default the system's
 * @returns {Sandbox}
 */
export function createSandbox({
  baseUrl,
  files = {},
  settings = {},
  palimpsest = { prices: "openai" },
  contextWindow = 1_000_000,
  parent = tmpdir(),
}) {
  const dir = mkdtempSync(join(parent, "palimpsest-pi-"));
  // Tests about permissions run Pi as another user, who must get in.
  chmodSync(dir, 0o755);
  const [agentDir, homeDir, projectDir] = ["agent", "home", "project"].map((name) => join(dir, name));
  for (const folder of [agentDir, homeDir, projectDir]) {
    mkdirSync(folder);
  }
  const model = { id: "scripted-1", contextWindow, maxTokens: 8_000 };
  const provider = { baseUrl, api: "openai-completions", apiKey: "none", models: [model] };
  writeJson(join(agentDir, "models.json"), { providers: { scripted: provider } });
  const defaults = { defaultProvider: "scripted", defaultModel: model.id, quietStartup: true };
  writeJson(join(agentDir, "settings.json"), { ...defaults, ...settings });
  // What else the machine does is no matter here.
  writeJson(join(agentDir, "palimpsest.json"), { deadlineSeconds: 30, ...palimpsest });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(projectDir, path)), { recursive: true });
    writeFileSync(join(projectDir, path), content);
  }
  return {
    dir,
    agentDir,
    projectDir,
    env: {
      ...bareEnv(homeDir),
      PI_CODING_AGENT_DIR: agentDir,
      PI_OFFLINE: "1",
      PI_SKIP_VERSION_CHECK: "1",
      PI_TELEMETRY: "0",
    },
    // A Pi whose terminal was just closed may write until it is gone.
    remove: () => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }),
  };
}

/**
 * Runs `pi ...args` to its end, with an empty stdin.
 *
 * Rejects when the deadline passes (the process is then gone) or it cannot start; any exit code resolves.
 * @param {Sandbox} sandbox
 * @param {string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<Finished>}
 */
export async function runPi(sandbox, args, options = {}) {
  const running = launchPi(sandbox, args, options, "ignore");
  return running.finished;
}

/**
 * Runs `pi --mode json ...args` to its end and parses its events.
 * @param {Sandbox} sandbox
 * @param {string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<Finished & { events: RpcRecord[] }>}
 */
export async function runPiJson(sandbox, args, options = {}) {
  const finished = await runPi(sandbox, ["--mode", "json", ...args], options);
  const lines = finished.stdout.split("\n").filter((line) => line !== "");
  return { ...finished, events: lines.map((line) => JSON.parse(line)) };
}

/**
 * Starts `pi --mode rpc ...args`. The deadline holds for the whole session.
 *
 * @param {Sandbox} sandbox
 * @param {string[]} [args]
 * @param {RunOptions} [options]
 */
export function startPiRpc(sandbox, args = [], options = {}) {
  const { child, finished, outcome } = launchPi(sandbox, ["--mode", "rpc", ...args], options, "pipe");
  /** @type {RpcRecord[]} */
  const records = [];
  /** @type {Set<{ matches: (record: RpcRecord) => boolean, resolve: (record: RpcRecord) => void }>} */
  const waiting = new Set();
  let commands = 0;

  eachLine(child, (line) => {
    const record = JSON.parse(line);
    records.push(record);
    for (const waiter of waiting) {
      if (waiter.matches(record)) {
        waiting.delete(waiter);
        waiter.resolve(record);
      }
    }
  });

  /**
   * The next record that matches, counted from now; rejects when Pi ends first.
   * @param {(record: RpcRecord) => boolean} matches
   * @returns {Promise<RpcRecord>}
   */
  function waitFor(matches) {
    const found = new Promise((resolve) => waiting.add({ matches, resolve }));
    const ended = finished.then(({ code, stderr }) => {
      throw new Error(`pi ended with code ${code} while a record was awaited\n${stderr}`);
    });
    return /** @type {Promise<RpcRecord>} */ (Promise.race([found, ended]));
  }

  /**
   * Sends a command and resolves with its response; rejects when the response says that it failed.
   * @param {{ type: string, [key: string]: unknown }} command
   */
  async function send(command) {
    const id = `command-${commands++}`;
    const response = waitFor((record) => record.type === "response" && record.id === id);
    child.stdin?.write(`${JSON.stringify({ ...command, id })}\n`);
    const answered = await response;
    if (answered.success !== true) {
      throw new Error(`rpc ${command.type} failed: ${answered.error}`);
    }
    return answered;
  }

  return {
    pid: child.pid,
    records,
    outcome,
    send,
    waitFor,
    /**
     * Sends a user message and resolves when Pi will not go on by itself.
     * @param {string} message
     */
    async prompt(message) {
      const settled = waitFor((record) => record.type === "agent_settled");
      await Promise.all([send({ type: "prompt", message }), settled]);
    },
    /**
     * Answers what an extension asks the user.
     * @param {RpcRecord} question
     * @param {string} value
     */
    answer({ id }, value) {
      child.stdin?.write(`${JSON.stringify({ type: "extension_ui_response", id, value })}\n`);
    },
    /** Closes stdin, as a client that goes away does, and resolves when Pi has ended. */
    close() {
      child.stdin?.end();
      return finished;
    },
  };
}

/**
 * @param {Sandbox} sandbox
 * @param {string[]} args
 * @param {RunOptions} options
 * @param {"ignore" | "pipe"} stdin
 */
function launchPi(sandbox, args, options, stdin) {
  const {
    deadlineMs = defaultDeadlineMs,
    env = {},
    cwd = sandbox.projectDir,
    node = pinnedNode(),
    launcher = [],
  } = options;
  const command = [...launcher, node, piCli(piVersion), ...args];
  const name = `pi ${args.join(" ")}`;
  return launch({ name, command, cwd, env: { ...sandbox.env, ...env }, stdin, deadlineMs });
}

/**
 * Splits on LF only: Pi's records may hold U+2028, at which `readline` splits too.
 * @param {import("node:child_process").ChildProcess} child
 * @param {(line: string) => void} onLine
 */
function eachLine(child, onLine) {
  let rest = "";
  child.stdout?.on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") {
        onLine(line);
      }
    }
  });
}
