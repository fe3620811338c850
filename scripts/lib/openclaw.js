// Runs the real OpenClaw in a sandbox of its own: home, state and workspace in one temporary folder, its only model a
// scripted one, no update checks, channels, discovery or timed jobs, a deadline on everything. Must not reach the user's own
// OpenClaw, and must not know Palimpsest beyond where its store goes.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pinnedNode } from "../setup.js";
import { openClawCli } from "./openclaw-host.js";
import { claimPort } from "./ports.js";
import { bareEnv, launch, writeJson } from "./processes.js";

/**
 * @typedef {import("./processes.js").Finished} Finished
 *
 * @typedef {object} OpenClawSandbox
 * @property {string} dir everything below lies here
 * @property {string} stateDir OpenClaw's state folder
 * @property {string} homeDir
 * @property {string} workspaceDir the agent's workspace and the working folder
 * @property {string} store Palimpsest's store
 * @property {number} port of the gateway, when it runs; the sandbox's own until it is removed
 * @property {string} token that the gateway asks for
 * @property {Record<string, string>} env the whole environment of every OpenClaw here
 * @property {() => Promise<void>} remove deletes the folder and gives the port free
 *
 * @typedef {object} RunOptions
 * @property {number} [deadlineMs] default 120,000; the process is killed when it passes
 * @property {Record<string, string>} [env] added to the sandbox's environment
 * @property {string[]} [launcher] a command that runs the rest of its arguments, such as `setpriv --reuid=…`
 *
 * @typedef {object} LocalTurn
 * @property {string} message
 * @property {string} [sessionKey] default `agent:main:main`
 * @property {string[]} [args] more arguments of `openclaw agent`
 *
 * @typedef {{ [key: string]: any }} Config OpenClaw's, as it stands in `openclaw.json`
 */

export const defaultSessionKey = "agent:main:main";
const defaultDeadlineMs = 120_000;

/**
 * Creates a sandbox whose only model is the one at `baseUrl`, `scripted/scripted-1`.
 *
 * @param {object} options
 * @param {string} options.baseUrl of a scripted model, as OpenClaw's format wants it: with `/v1` for `openai-completions`
 * @param {string} [options.api] the format that the model speaks; default `openai-completions`
 * @param {Record<string, string>} [options.files] files of the workspace, path to content
 * @param {Config} [options.config] laid over the sandbox's own `openclaw.json`
 * @param {Config} [options.model] more of the model's data
 * @param {string} [options.parent] folder to create the sandbox in; default the system's
 * @returns {Promise<OpenClawSandbox>}
 */
export async function createOpenClawSandbox({
  baseUrl,
  api = "openai-completions",
  files = {},
  config = {},
  model = {},
  parent = tmpdir(),
}) {
  const dir = mkdtempSync(join(parent, "palimpsest-openclaw-"));
  const [stateDir, homeDir, workspaceDir] = ["state", "home", "workspace"].map((name) => join(dir, name));
  for (const folder of [stateDir, homeDir, workspaceDir]) {
    mkdirSync(folder);
  }
  const [{ port, release }, token, store] = [await claimPort(), "scripted", join(dir, "store.sqlite")];
  /** @type {OpenClawSandbox} */
  const sandbox = {
    dir,
    stateDir,
    homeDir,
    workspaceDir,
    store,
    port,
    token,
    env: {
      ...bareEnv(homeDir),
      ...quietEnv,
      OPENCLAW_STATE_DIR: stateDir,
      PALIMPSEST_STORE: store,
      npm_config_cache: join(dir, "npm"),
      npm_config_update_notifier: "false",
    },
    remove: async () => {
      release();
      // A child of the gateway may still write for a moment.
      rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
  const models = [{ id: "scripted-1", name: "Scripted", contextWindow: 128_000, maxTokens: 8_000, ...model }];
  writeConfig(sandbox, layer(quietConfig(sandbox, { baseUrl, api, apiKey: "none", models }), config));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(workspaceDir, path)), { recursive: true });
    writeFileSync(join(workspaceDir, path), content);
  }
  return sandbox;
}

/** Nothing leaves the machine, and no process outlives the one that was started. */
const quietEnv = {
  OPENCLAW_DISABLE_BONJOUR: "1",
  OPENCLAW_EXEC_SHELL_SNAPSHOT: "0",
  OPENCLAW_NO_AUTO_UPDATE: "1",
  OPENCLAW_NO_RESPAWN: "1",
  OPENCLAW_OFFLINE: "1",
  OPENCLAW_SKIP_CHANNELS: "1",
};

/**
 * @param {OpenClawSandbox} sandbox
 * @param {Config} provider
 * @returns {Config}
 */
function quietConfig({ dir, port, token, workspaceDir }, provider) {
  return {
    gateway: { mode: "local", port, bind: "loopback", auth: { mode: "token", token } },
    // Its default is one file for all on the machine.
    logging: { file: join(dir, "openclaw.log") },
    update: { checkOnStart: false },
    discovery: { mdns: { mode: "off" } },
    // Timed jobs (heartbeat, dreaming) would come in between, and a gateway waits minutes for them when it is to stop.
    cron: { enabled: false },
    models: { catalogRefresh: { enabled: false }, providers: { scripted: provider } },
    agents: {
      defaults: {
        workspace: workspaceDir,
        skipBootstrap: true,
        model: { primary: `scripted/${provider.models[0].id}` },
      },
    },
  };
}

/**
 * The configuration of a sandbox, as it stands now.
 * @param {OpenClawSandbox} sandbox
 * @returns {Config}
 */
export function readConfig({ stateDir }) {
  return JSON.parse(readFileSync(join(stateDir, "openclaw.json"), "utf8"));
}

/**
 * Lays values over the configuration of a sandbox.
 * @param {OpenClawSandbox} sandbox
 * @param {Config} config
 */
export function configure(sandbox, config) {
  writeConfig(sandbox, layer(readConfig(sandbox), config));
}

/**
 * @param {OpenClawSandbox} sandbox
 * @param {Config} config
 */
function writeConfig({ stateDir }, config) {
  writeJson(join(stateDir, "openclaw.json"), config);
}

/**
 * Objects are merged, anything else is replaced.
 * @param {Config} under
 * @param {Config} over
 * @returns {Config}
 */
function layer(under, over) {
  const isObject = (/** @type {unknown} */ value) => Object.prototype.toString.call(value) === "[object Object]";
  const merged = { ...under };
  for (const [key, value] of Object.entries(over)) {
    merged[key] = isObject(value) && isObject(under[key]) ? layer(under[key], value) : value;
  }
  return merged;
}

/**
 * Has OpenClaw load a plugin from its folder, without installing it.
 *
 * @param {OpenClawSandbox} sandbox
 * @param {string} folder with `openclaw.plugin.json`
 * @param {Config} [settings] the plugin's own
 */
export function linkPlugin(sandbox, folder, settings = {}) {
  const { id, kind } = JSON.parse(readFileSync(join(folder, "openclaw.plugin.json"), "utf8"));
  const { plugins = {} } = readConfig(sandbox);
  const entry = { enabled: true, hooks: { allowConversationAccess: true }, config: settings };
  const isEngine = [kind].flat().includes("context-engine");
  configure(sandbox, {
    plugins: {
      load: { paths: [...(plugins.load?.paths ?? []), folder] },
      ...(isEngine ? { slots: { contextEngine: id } } : {}),
      entries: { [id]: entry },
    },
  });
}

/**
 * Installs a plugin from a tarball as users do.
 *
 * @param {OpenClawSandbox} sandbox
 * @param {string} tarball
 * @param {RunOptions & { registry?: string }} [options] `registry` has the packages on which it depends
 */
export function installPlugin(sandbox, tarball, { registry, env, ...options } = {}) {
  const args = ["plugins", "install", `npm-pack:${tarball}`, "--force", "--accept-capabilities"];
  /** @type {Record<string, string>} */
  const from = registry === undefined ? {} : { npm_config_registry: registry };
  return runOpenClaw(sandbox, args, { ...options, env: { ...env, ...from } });
}

/**
 * Uninstalls a plugin as users do.
 * @param {OpenClawSandbox} sandbox
 * @param {string} id
 */
export function uninstallPlugin(sandbox, id) {
  return runOpenClaw(sandbox, ["plugins", "uninstall", id, "--force"]);
}

/**
 * Runs one turn without a gateway: `openclaw agent --local`. `answer` is what `--json` printed, undefined where that is not JSON.
 *
 * @param {OpenClawSandbox} sandbox
 * @param {LocalTurn} turn
 * @param {RunOptions} [options]
 * @returns {Promise<Finished & { answer: any }>}
 */
export async function runLocal(sandbox, { message, sessionKey = defaultSessionKey, args = [] }, options = {}) {
  const command = ["agent", "--local", "--json", "--session-key", sessionKey, "--message", message, ...args];
  const finished = await runOpenClaw(sandbox, command, options);
  return { ...finished, answer: parsed(finished.stdout) };
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Runs `openclaw ...args` to its end.
 *
 * Rejects when the deadline passes (the process is then gone) or it cannot start; any exit code resolves.
 * @param {OpenClawSandbox} sandbox
 * @param {string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<Finished>}
 */
export function runOpenClaw(sandbox, args, { deadlineMs = defaultDeadlineMs, ...options } = {}) {
  return startOpenClaw(sandbox, args, { deadlineMs, ...options }).finished;
}

/**
 * Starts `openclaw ...args`.
 * @param {OpenClawSandbox} sandbox
 * @param {string[]} args
 * @param {RunOptions} options
 */
export function startOpenClaw({ workspaceDir, env: own }, args, { env, deadlineMs, launcher = [] }) {
  const command = [...launcher, pinnedNode(), openClawCli, ...args];
  const name = `openclaw ${args.join(" ")}`;
  return launch({ name, command, cwd: workspaceDir, env: { ...own, ...env }, deadlineMs });
}
