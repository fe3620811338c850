// The plugin of a process: what all copies of the entry share, and what each of them registers with OpenClaw. Loaded once (index.js).
import { createRequire } from "node:module";
import { join } from "node:path";
import { withoutSecrets } from "../index.js";
import { openclawStateDir } from "../lib/places.js";
import { Authority } from "./authority.js";
import { runCommand } from "./command.js";
import { Engine, engineId } from "./engine.js";
import { Failures } from "./failures.js";
import { Heard } from "./heard.js";
import { refuseWrite, showResult } from "./middleware.js";
import { Rates } from "./model.js";
import { Sessions } from "./sessions.js";
import { registerTools } from "./tools.js";
import { asSent } from "./turn.js";

/** @import { HostConfig, HostFunctions, HostLogger, HostMessage, PluginApi } from "./host.d.ts" */

/** Session keys whose messages are kept: turns that ended have none. */
const maxKeys = 256;

/** @type {{ version: string }} */
const { version } = createRequire(import.meta.url)("../package.json");

/** What the copies of the plugin share. */
export class Plugin {
  version = version;
  failures;
  sessions;
  authority = new Authority();
  rates = new Rates();
  /** The host's configuration. @type {HostConfig | undefined} */
  config;
  /** By session key. @type {Map<string, Heard>} */
  #heard = new Map();
  /** The histories of the running turns, by session. @type {Map<string, readonly HostMessage[]>} */
  #histories = new Map();
  /** The newest session of a session key. @type {Map<string, string>} */
  #sessionOf = new Map();
  /** The agent's workspace, by the host. @type {((agentId: string | undefined) => string | undefined) | undefined} */
  workspace;

  /**
   * @param {string} folder of the log
   * @param {HostLogger} logger
   */
  constructor(folder, logger) {
    this.failures = new Failures(folder, logger, withoutSecrets);
    this.sessions = new Sessions(folder, this.failures, this.authority);
  }

  /** What OpenClaw wrote for a session key since its last turn. @param {string | undefined} sessionKey */
  heard(sessionKey = "") {
    const known = this.#heard.get(sessionKey) ?? new Heard();
    this.#heard.delete(sessionKey);
    this.#heard.set(sessionKey, known);
    if (this.#heard.size > maxKeys) {
      const [oldest] = this.#heard.keys();
      this.#heard.delete(oldest);
    }
    return known;
  }

  /** The history of the running turn of a session; undefined where none runs with us. @param {string | undefined} sessionId */
  historyOf(sessionId = "") {
    return this.#histories.get(sessionId);
  }

  /** The working folder of a session: where its agent works, whoever asks. @param {string} sessionId @param {string | undefined} agentId */
  workspaceOf(sessionId, agentId) {
    return this.sessions.folderOf(sessionId) ?? this.workspace?.(agentId) ?? process.cwd();
  }

  /** The session of a key. @param {string | undefined} sessionKey */
  sessionOf(sessionKey = "") {
    return this.#sessionOf.get(sessionKey);
  }

  /** The keys of the conversations that a name means: its key, or the end of it after a `:`. @param {string} name */
  keysOf(name) {
    const known = [...this.#sessionOf.keys()].filter((key) => key === name || key.endsWith(`:${name}`));
    return known.length === 0 && name.startsWith("agent:") ? [name] : known;
  }

  /**
   * An attempt of a turn begins.
   * @param {string} sessionId
   * @param {string | undefined} sessionKey
   * @param {readonly HostMessage[]} history
   * @param {string} [prompt]
   */
  begin(sessionId, sessionKey, history, prompt) {
    this.#histories.delete(sessionId);
    this.heard(sessionKey).begin(history, prompt);
    if (sessionKey !== undefined) {
      this.#sessionOf.delete(sessionKey);
      this.#sessionOf.set(sessionKey, sessionId);
      if (this.#sessionOf.size > maxKeys) {
        const [oldest] = this.#sessionOf.keys();
        this.#sessionOf.delete(oldest);
      }
    }
  }

  /**
   * Takes the history of the running turn.
   * @param {string} sessionId
   * @param {readonly HostMessage[]} history
   * @param {readonly HostMessage[]} sent messages of persons that went out before
   */
  remember(sessionId, history, sent) {
    this.#histories.set(sessionId, asSent(history, sent));
  }

  /** A turn ended. @param {string} sessionId @param {string | undefined} sessionKey */
  end(sessionId, sessionKey) {
    this.#histories.delete(sessionId);
    this.heard(sessionKey).end();
  }

  /** A sub-agent ended. @param {string} sessionKey */
  async endOf(sessionKey) {
    const sessionId = this.sessionOf(sessionKey);
    this.#heard.delete(sessionKey);
    this.#sessionOf.delete(sessionKey);
    this.sessions.conversations.forgetChild(sessionKey);
    this.sessions.forgetFork([sessionKey, ...(sessionId === undefined ? [] : [sessionId])]);
    if (sessionId !== undefined) {
      await this.sessions.close(sessionId);
    }
  }

  /** OpenClaw writes a message. @param {HostMessage} message @param {string | undefined} sessionKey */
  write(message, sessionKey) {
    this.heard(sessionKey).add(message);
    if (message.role === "assistant") {
      void this.#answered(message, this.sessionOf(sessionKey));
    }
  }

  /** Reports what an answer used. @param {HostMessage} message @param {string | undefined} sessionId */
  async #answered(message, sessionId) {
    await this.failures.guarded("usage was not taken", undefined, async () => {
      this.rates.learn(message);
      const current = await this.sessions.opened(sessionId);
      const { input, cacheRead, cacheWrite, output } = /** @type {import("./model.js").Usage} */ (message.usage ?? {});
      if (current === undefined || input === undefined || input + (cacheRead ?? 0) + (cacheWrite ?? 0) === 0) {
        return;
      }
      current.room.reported();
      // Without a number the report is about the newest call of the session.
      const call = current.isOurs ? undefined : 0;
      const rest = { cacheRead: cacheRead ?? 0, cacheWrite: cacheWrite ?? 0, output: output ?? 0 };
      await current.session.recordUsage({ kind: "call", call, input, ...rest });
    });
  }

  /** A request went out. @param {number | undefined} bytes @param {string | undefined} sessionId */
  async sent(bytes, sessionId) {
    const current = await this.sessions.opened(sessionId);
    if (bytes !== undefined && current?.sent !== undefined) {
      current.room.sent(bytes, current.sent);
      current.sent = undefined;
    }
  }
}

/** @type {Plugin | undefined} */
let plugin;

/**
 * Registers with OpenClaw. It asks several times in a process.
 * @param {PluginApi} api
 * @param {HostFunctions} host
 */
export function register(api, host) {
  const folder = join(api.runtime?.state?.resolveStateDir?.() ?? openclawStateDir(), "palimpsest");
  plugin ??= new Plugin(folder, api.logger);
  const shared = plugin;
  shared.failures.logger = api.logger;
  shared.config = api.config;
  shared.authority.configure(api, host);
  shared.workspace = (agentId) => api.runtime?.agent?.resolveAgentWorkspaceDir?.(api.config ?? {}, agentId ?? "main");
  shared.sessions.configure(api.pluginConfig);
  const { failures } = shared;
  api.registerContextEngine(engineId, (ctx) => new Engine(shared, ctx, host));
  registerTools(api, shared);
  api.registerAgentToolResultMiddleware((event, ctx) => showResult(shared, event, ctx), { runtimes: ["openclaw"] });
  api.registerCommand({
    name: "palimpsest",
    description: "Show what Palimpsest does in this session and what it saves, or turn it off and on",
    acceptsArgs: true,
    requireAuth: true,
    handler: async (ctx) => ({ text: await runCommand(shared, ctx) }),
  });
  api.on("before_message_write", ({ message }, { sessionKey }) => {
    try {
      shared.write(message, sessionKey);
    } catch (error) {
      void failures.report("a message of the running turn is not known", error);
    }
  });
  api.on("before_tool_call", (event, ctx) => refuseWrite(shared, event, ctx));
  api.on("model_call_ended", ({ requestPayloadBytes }, { sessionId }) =>
    failures.guarded("the size of a request was not taken", undefined, () =>
      shared.sent(requestPayloadBytes, sessionId),
    ),
  );
  api.on("gateway_stop", () => shared.sessions.closeAll());
}
