// The open sessions of a process, for all copies of the plugin: opened when a turn begins, closed when they were idle for long and others
// need the room, and when the gateway stops. Decides nothing about contexts.
import { dirname, join } from "node:path";
import * as addon from "../index.js";
import { describe, isLost } from "../lib/failures.js";
import { shortCount } from "../lib/figures.js";
import { pinWords, splitWords, usageIgnored } from "../lib/notices.js";
import { inStateFolder, piAgentDir } from "../lib/places.js";
import { withTyped } from "../lib/program.js";
import { watchSharing } from "../lib/sharing.js";
import { name } from "../lib/terminal.js";
import { untrustedText } from "../lib/trust.js";
import { Choices } from "./choices.js";
import { Conversations } from "./conversations.js";
import { SessionMemory } from "./memory.js";
import { Room } from "./model.js";
import { isJoined } from "./turn.js";

/**
 * @import { Session, Settings, Store } from "../index.js"
 * @import { Conversation } from "../lib/authority.js"
 * @import { Authority } from "./authority.js"
 * @import { Standing } from "./conversations.js"
 * @import { HostMessage, ToolContext } from "./host.d.ts"
 * @import { Failures } from "./failures.js"
 *
 * @typedef {object} Who a session of the host
 * @property {string} sessionId
 * @property {string} [sessionKey]
 * @property {string} cwd the agent's workspace
 * @property {string} [parent] session that it is a fork of
 */

/** Why a session is off that a person turned off. */
export const turnedOff = "you turned it off here";

/** Sessions that stay open: a gateway has many chats, and each one that is open watches files. */
const maxOpen = 16;

/** A session of the host with Palimpsest on. */
export class Current {
  /** @type {Session} */
  session;
  /** @type {Store} */
  store;
  /** @type {SessionMemory} */
  memory;
  room = new Room();
  /** Turns that use it. */
  users = 0;
  /** Whether the newest call to the model had our messages. */
  isOurs = false;
  /** Why the last call went out with the host's own messages. @type {string | undefined} */
  failed;
  /** The newest request, without what the host adds, until its size is known. @type {HostMessage[] | undefined} */
  sent;
  /** Whether a request was refused as too long, so that less goes out since. */
  isLimited = false;
  /** Size that the next request keeps well below, so that everything leaves that may. @type {number | undefined} */
  squeezeTo;
  /** Messages of persons in the newest request; undefined before the first. @type {HostMessage[] | undefined} */
  spoken;
  /** @type {string[]} */
  notices;
  /** Whose it is. @type {Conversation} */
  conversation;
  /** As which it was opened. @type {Who} */
  who;
  /** Whether its tools run elsewhere. */
  isElsewhere;

  /**
   * @param {Who} who
   * @param {Session} session
   * @param {Store} store
   * @param {SessionMemory} memory
   * @param {string[]} notices
   * @param {Standing} standing
   */
  constructor(who, session, store, memory, notices, { conversation, isElsewhere }) {
    this.who = who;
    this.session = session;
    this.store = store;
    this.memory = memory;
    this.notices = notices;
    this.conversation = conversation;
    this.isElsewhere = isElsewhere;
  }

  /** Messages of persons that went out before, where the host may have joined some since. @param {readonly HostMessage[]} history */
  async sentOf(history) {
    if (this.spoken === undefined && history.some(isJoined)) {
      // Another process sent them.
      const { messages } = await this.store.recordedCall(this.session.id).catch(() => ({ messages: [] }));
      this.spoken = messages.map((text) => JSON.parse(text)).filter(({ role }) => role === "user");
    }
    return this.spoken ?? [];
  }
}

/** The sessions of the process. */
export class Sessions {
  #failures;
  #folder;
  #stateDir;
  choices;
  conversations;
  /** The plugin's configuration as the host has it. */
  #given = "{}";
  /** What of it counts. @type {Partial<Settings>} */
  #config = {};
  /** What is wrong with the rest, for the owner. @type {string | undefined} */
  wrongSettings;
  /** @type {Promise<{ store: Store, settings: Settings }> | undefined} */
  #store;
  /** In the order of their last use. @type {Map<string, Promise<Current | undefined>>} */
  #open = new Map();
  /** Parents of sub-agents that are about to start, by session ID or key. @type {Map<string, string>} */
  #parents = new Map();
  #authority;
  /** Why a session is off. @type {Map<string, string>} */
  #off = new Map();
  /** Ends the looks at the shared store, if there is one. @type {(() => void) | undefined} */
  #endLooks;
  /** Working folders. @type {Map<string, string>} */
  #folders = new Map();

  /**
   * @param {string} folder of the log and of the file with choices
   * @param {Failures} failures
   * @param {Pick<Authority, "conversationOf" | "strangerIn" | "isOwnerNow" | "runsElsewhere" | "sandboxFolder">} authority
   */
  constructor(folder, failures, authority) {
    this.#authority = authority;
    this.#folder = folder;
    this.#stateDir = dirname(folder);
    this.#failures = failures;
    this.choices = new Choices(join(folder, "openclaw-sessions.json"));
    this.conversations = new Conversations(authority, this.choices, failures);
  }

  /** Takes the configuration. A wrong value does not count, and is told once. @param {Record<string, unknown> | undefined} config */
  configure(config = {}) {
    const given = JSON.stringify(config);
    if (given === this.#given) {
      return;
    }
    // JSON5 has numbers that JSON has not.
    const { settings, problems } = addon.checkSettings(JSON.parse(given));
    this.#given = given;
    this.#config = settings;
    this.wrongSettings = wrongText(problems);
    if (this.wrongSettings !== undefined) {
      this.#failures.notice(this.wrongSettings);
    }
    // Open sessions go on as they are.
    this.#store = undefined;
    this.#noLooks();
  }

  /** Whether a run gets our tools: not where a person turned us off. @param {ToolContext} ctx */
  offersTools({ sessionId = "", sessionKey }) {
    return this.#config.enabled !== false && !this.choices.isOneOff(this.#namesOf({ sessionId, sessionKey }));
  }

  /** By which names choices count for a session: its key, that of the conversation it works for, and its ID. @param {Pick<Who, "sessionId" | "sessionKey">} who */
  #namesOf({ sessionId, sessionKey = sessionId }) {
    return [...new Set([sessionKey, this.conversations.nameOf(sessionId, sessionKey), sessionId])];
  }

  /** Whether a person chose something for a session. @param {Pick<Who, "sessionId" | "sessionKey">} who @param {"off" | "memoryOff"} what */
  async #isChosen(who, what) {
    const chosen = await Promise.all(this.#namesOf(who).map((name) => this.choices.of(name)));
    return chosen.some((choice) => choice[what] === true);
  }

  /**
   * Takes what a person chose where a session is, also for those that begin there later, and closes those that are off by it. As
   * `Choices.take`.
   * @param {Pick<Who, "sessionId" | "sessionKey">} who
   * @param {"off" | "memoryOff"} what
   * @param {boolean} isSo
   */
  async choose(who, what, isSo) {
    let problem;
    for (const name of this.#namesOf(who).slice(0, isSo ? 1 : undefined)) {
      problem = await this.choices.take(name, { [what]: isSo });
    }
    for (const [sessionId, opening] of [...this.#open]) {
      const open = await opening;
      if (open !== undefined && this.choices.isOneOff(this.#namesOf(open.who))) {
        await this.close(sessionId);
      }
    }
    return problem;
  }

  /** The settings: environment variables over the plugin's configuration over the defaults. @returns {Promise<Settings>} */
  async settings() {
    const values = (await this.settingValues()).map(({ key, value }) => [key, value]);
    const settings = Object.fromEntries(values);
    for (const key of ["store", "xtdbTokenFile", "xtdbCaFile"].filter((key) => typeof settings[key] === "string")) {
      settings[key] = inStateFolder(settings[key], this.#stateDir);
    }
    return settings;
  }

  /** The settings with who set them. */
  async settingValues() {
    const known = await addon.settingValues({});
    return known.map((setting) => {
      const given = this.#config[/** @type {keyof Settings} */ (setting.key)];
      // The host may fill in the defaults.
      const isGiven = given !== undefined && JSON.stringify(given) !== JSON.stringify(setting.value);
      return isGiven && setting.source !== "environment"
        ? { ...setting, value: given, source: /** @type {const} */ ("config"), place: "openclaw.json" }
        : setting;
    });
  }

  /** A text of ours whose commands can be typed on the gateway's machine, and look into the plugin's store. @param {string} text */
  async withTyped(text) {
    const path = await this.settings()
      .then((settings) => addon.storePath({ settings }))
      .catch(() => undefined);
    return withTyped(text, path);
  }

  /** Whether a session is open, or may be opened. @param {string} sessionId */
  isOff(sessionId) {
    return this.#config.enabled === false || this.#off.has(sessionId);
  }

  /** Why a session is off. @param {string} sessionId */
  whyOff(sessionId) {
    return this.#off.get(sessionId);
  }

  /** The session, if it is open. @param {string | undefined} sessionId @returns {Promise<Current | undefined>} */
  async opened(sessionId) {
    return sessionId === undefined ? undefined : this.#open.get(sessionId);
  }

  /** The working folder of a session that was opened. @param {string} sessionId */
  folderOf(sessionId) {
    return this.#folders.get(sessionId);
  }

  /** Opens a session, unless it is open. Resolves to undefined where Palimpsest is off; never rejects. @param {Who} who */
  async of(who) {
    const { sessionId } = who;
    const standing = who.sessionKey === undefined ? undefined : await this.conversations.standingOf(who);
    const open = await this.#open.get(sessionId);
    const isOther = open?.conversation !== standing?.conversation || open?.isElsewhere !== standing?.isElsewhere;
    const isOff = open !== undefined && (await this.#isChosen(who, "off"));
    if (isOff || (open?.users === 0 && standing !== undefined && isOther)) {
      // Somebody else came, or the owner says otherwise by now.
      await this.close(sessionId);
    }
    const known = this.#open.get(sessionId);
    const opening = known ?? this.#opening(who);
    this.#open.delete(sessionId);
    this.#open.set(sessionId, opening);
    const current = await opening;
    if (current === undefined && this.#open.get(sessionId) === opening) {
      // It is tried again at the next turn.
      this.#open.delete(sessionId);
    }
    await this.#closeIdle(sessionId);
    return current;
  }

  /** @param {Who} who @returns {Promise<Current | undefined>} */
  async #opening(who) {
    const { sessionId } = who;
    this.#off.delete(sessionId);
    this.#folders.set(sessionId, who.cwd);
    try {
      if (await this.#isChosen(who, "off")) {
        this.#off.set(sessionId, turnedOff);
        return undefined;
      }
      const settings = await this.settings();
      if (!settings.enabled) {
        this.#off.set(sessionId, "the setting `enabled` is false");
        return undefined;
      }
      return await this.#openIn(who, settings);
    } catch (error) {
      this.#off.set(sessionId, describe(error));
      if (/** @type {{ code?: unknown }} */ (error)?.code !== "FORGOTTEN") {
        await this.#failures.report("off for a session, OpenClaw works as without it", error);
      }
      return undefined;
    }
  }

  /** What the owner is told of a workspace whose memory is not used; null if there is nothing. @param {string} project */
  async #untrusted(project) {
    const what = "memory and settings of a workspace are not used: whether you trust it cannot be read";
    return this.#failures.guarded(what, /** @type {string | null} */ (null), async () => {
      const found = await addon.projectTrust({ agentDir: piAgentDir(), project });
      const isDecided = found.counts || found.standing === "denied";
      return isDecided ? null : untrustedText(found, "`/palimpsest memory trust`, or");
    });
  }

  /**
   * @param {Who} who
   * @param {Settings} settings
   */
  async #openIn(who, settings) {
    const { sessionId, sessionKey, cwd, parent } = who;
    const { store } = await this.#storeWith(settings);
    const parentSessionId = parent ?? this.#parents.get(sessionId) ?? this.#parents.get(sessionKey ?? "");
    const standing = await this.conversations.standingOf(who);
    const confined = standing.conversation !== "owner";
    const seen = standing.isElsewhere ? inSandbox(settings, sessionId, confined) : settings;
    const options = { harness: "openclaw", sessionId, cwd, settings: seen, parentSessionId, images: true, confined };
    const session = await addon.openSession(store, options);
    const isOff = () => this.#isChosen(who, "memoryOff");
    const conversation = confined ? standing.name : undefined;
    // A sandbox may have the workspace itself.
    const kept = [this.#folder, join(this.#authority.sandboxFolder, ".pi", "memory")];
    const memory = new SessionMemory(session, store, { conversation, cwd, kept, isOff }, this.#failures);
    const untrusted = confined ? null : await this.#untrusted(cwd);
    const notices = [store.notice, ...(await session.mountNotices()), untrusted].filter((notice) => notice !== null);
    for (const notice of notices) {
      this.#failures.notice(notice);
    }
    this.#listen(session);
    this.#endLooks ??= watchSharing(() => this.#sharing(), { notice: (text) => this.#failures.notice(text) });
    this.#failures.info(`session ${session.id} is open in ${store.path}`);
    return new Current(who, session, store, memory, notices, standing);
  }

  #noLooks() {
    this.#endLooks?.();
    this.#endLooks = undefined;
  }

  /** How the store stands with the shared one: all sessions have the same. */
  async #sharing() {
    for (const opening of this.#open.values()) {
      const current = await opening;
      if (current !== undefined) {
        return current.session.sharing();
      }
    }
    throw new Error("no session is open");
  }

  /** @param {Session} session */
  #listen(session) {
    let saidTooLong = false;
    session.onEvent((event) => {
      if (event.type === "window_exceeded" && !saidTooLong) {
        saidTooLong = true;
        this.#failures.notice(
          `a request has about ${shortCount(event.tokens)} tokens, and the model's window ${shortCount(event.window)}: all that may leave has left`,
        );
      } else if (event.type === "pin_left_out" || event.type === "pin_ended") {
        this.#failures.notice(pinWords(event));
      } else if (event.type === "session_split") {
        this.#failures.notice(splitWords(event, "OpenClaw"));
      } else if (event.type === "usage_ignored") {
        this.#failures.notice(usageIgnored[event.why]);
      } else if (event.type === "disk_silent" || event.type === "tracking_failed") {
        this.#failures.notice(
          event.type === "disk_silent"
            ? `\`${name(event.path)}\` does not answer`
            : `files cannot be watched (${event.problem}), but are still looked at before each call`,
        );
      }
    });
  }

  /** @param {Settings} settings */
  #storeWith(settings) {
    this.#store ??= addon.openStore({ settings }).then((store) => ({ store, settings }));
    this.#store.catch(() => {
      this.#store = undefined;
    });
    return this.#store;
  }

  /** Gives a session up whose store is lost, so that the next turn opens it anew. Resolves to whether it did. @param {string} sessionId @param {unknown} error */
  async giveUp(sessionId, error) {
    if (!isLost(error)) {
      return false;
    }
    const lost = await this.opened(sessionId);
    this.#open.delete(sessionId);
    await lost?.session.close().catch(() => {});
    if (/** @type {{ code?: unknown }} */ (error).code === "STORE_GONE") {
      const store = this.#store;
      this.#store = undefined;
      await Promise.all([...this.#open.keys()].map((open) => this.close(open)));
      await store?.then((opened) => opened.store.close()).catch(() => {});
    }
    return true;
  }

  /** A sub-agent is about to start as a fork. @param {string[]} children its session ID and key @param {string} parent */
  willFork(children, parent) {
    for (const child of children) {
      this.#parents.set(child, parent);
    }
  }

  /** @param {string[]} children */
  forgetFork(children) {
    for (const child of children) {
      this.#parents.delete(child);
    }
  }

  /** Closes a session, if it is open. Never rejects. @param {string} sessionId */
  async close(sessionId) {
    const closing = this.#open.get(sessionId);
    this.#open.delete(sessionId);
    const current = await closing;
    if (current !== undefined) {
      await current.memory.end();
      await current.session
        .close()
        .catch((error) => this.#failures.report("could not store the end of a session", error));
    }
  }

  /** @param {string} asked the one that somebody is about to use */
  async #closeIdle(asked) {
    for (const [sessionId, opening] of [...this.#open]) {
      if (this.#open.size <= maxOpen) {
        return;
      }
      if (sessionId !== asked && (await opening)?.users === 0) {
        await this.close(sessionId);
      }
    }
  }

  /** Closes all, and the store. Never rejects. */
  async closeAll() {
    await Promise.all([...this.#open.keys()].map((sessionId) => this.close(sessionId)));
    const opened = this.#store;
    this.#store = undefined;
    this.#noLooks();
    await opened
      ?.then(({ store }) => store.close())
      .catch((error) => this.#failures.report("could not close the store", error));
  }
}

/**
 * The settings of a session whose tools run elsewhere. What a folder of this machine is there only the owner's own sessions may say.
 * @param {Settings} settings
 * @param {string} sessionId
 * @param {boolean} confined
 * @returns {Settings}
 */
function inSandbox(settings, sessionId, confined) {
  const sandbox = `openclaw ${sessionId}`;
  return confined ? { ...settings, mounts: [], sandbox } : { ...settings, sandbox: settings.sandbox ?? sandbox };
}

/** What the owner is told of wrong settings. @param {string[]} problems */
function wrongText(problems) {
  const where = "`plugins.entries.palimpsest.config` of OpenClaw's configuration";
  return problems.length === 0 ? undefined : `in ${where}, what is wrong is ignored: ${problems.join("; ")}`;
}
