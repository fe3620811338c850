// The answers that the page gets, from the public methods of a store. Must not write, and must not know of HTTP.
import { loadSettings } from "../../index.js";
import { diskState } from "./disk.js";
import { failureOf, Refusal } from "./failures.js";
import { memoryOf } from "./memory.js";
import { Recent, Turns } from "./recent.js";
import { comparison, shownCall } from "./shown.js";
import { asSet, playedAgain } from "./what-if.js";

/**
 * @import { ComparedCall, RecordedCall, SessionBill, Settings, Store } from "../../index.js"
 * @import { About, AsSet, Bills, CallView, Found, MemoryView, ObjectView, PlainView, SessionView, Sessions, WhatIf } from "../protocol.js"
 *
 * @typedef {object} Around
 * @property {Store} store only read
 * @property {<T>(work: (store: Store) => Promise<T>) => Promise<T>} refreshed runs work on the store with its indexes brought up to date
 * @property {<T>(work: (store: Store) => Promise<T>) => Promise<T>} written runs work on the store open for writing
 * @property {Partial<Settings>} settings the user's
 * @property {string} agentDir
 * @property {string} version of the package
 * @property {string | null} session ID of the one that was asked for
 */

/** How long a call's answers are kept while a person looks at it, and how many; they hold whole requests. */
const callMs = 30_000;
const mostCalls = 3;

/** How long a session's answer is kept, and how many. */
const sessionMs = 60_000;
const mostSessions = 4;

/** Hits of a search. */
const mostHits = 50;

export class Answers {
  /** @param {Around} around */
  constructor(around) {
    this.around = around;
    this.store = around.store;
    /** @type {Recent<ComparedCall>} */
    this.calls = new Recent(mostCalls, callMs);
    /** @type {Recent<SessionView>} */
    this.courses = new Recent(mostSessions, sessionMs);
    /** @type {Recent<SessionBill>} */
    this.knownBills = new Recent(5_000, 3_600_000);
    /** @type {Recent<import("../../index.js").ReplayedFile>} */
    this.played = new Recent(8, 3_600_000);
    this.turns = new Turns(3);
    this.refreshTurns = new Turns(1);
    this.playTurns = new Turns(1);
    /** The transaction of each session that viewers know; of all sessions under an empty ID. @type {Map<string, number>} */
    this.told = new Map();
  }

  /** @returns {Promise<About>} */
  async about() {
    const { version, session } = this.around;
    const { path, id } = this.store;
    return { version, store: path, storeId: id, session, redacted: false };
  }

  /** Begins with the session that will be asked for first, while a browser still starts. */
  prepare() {
    const { session } = this.around;
    if (session !== null) {
      this.session(session).catch(() => {});
    }
  }

  /** @returns {Promise<Sessions>} */
  async sessions() {
    const sessions = await this.turns.take(() => this.store.sessions());
    this.told.set("", sessions[0]?.txId ?? 0);
    return sessions;
  }

  /**
   * @param {string[]} ids
   * @returns {Promise<Bills>}
   */
  async bills(ids) {
    const of = (/** @type {Store} */ store) =>
      Promise.all(ids.map((id) => this.bill(store, id).catch((error) => ({ error: failureOf(error) }))));
    // Where the store can be written, what had to be made is kept there.
    const bills = await this.refreshTurns.take(() => this.around.written(of)).catch(() => of(this.store));
    return Object.fromEntries(ids.map((id, at) => [id, bills[at]]));
  }

  /** @param {Store} store @param {string} id */
  async bill(store, id) {
    const { txId } = await store.get(id);
    return this.knownBills.get(`${id} ${txId}`, () => this.turns.take(() => store.bill(id)));
  }

  /**
   * @param {string} text
   * @returns {Promise<Found>}
   */
  async search(text) {
    const search = (/** @type {Store} */ store) => store.search(text, { limit: mostHits });
    const here = await this.turns.take(() => search(this.store));
    const results = here.unindexed > 0 ? await this.refreshed(search).catch(() => here) : here;
    const sessions = await this.sessions();
    const ofChat = new Map(
      sessions.flatMap(({ id, chatId, systemPromptId }) => [
        [id, id],
        [chatId, id],
        [systemPromptId, id],
      ]),
    );
    const owners = results.hits.map(async ({ id, type, txId }) => {
      const owner = type === "toolcall" ? await this.store.get(id, { at: txId }).catch(() => undefined) : undefined;
      return ofChat.get(owner === undefined ? id : String(owner.fields.chat_ref)) ?? null;
    });
    return { ...results, sessions: await Promise.all(owners) };
  }

  /**
   * @param {string} id
   * @returns {Promise<SessionView>}
   */
  async session(id) {
    const info = (await this.sessions()).find((session) => session.id === id);
    if (info === undefined) {
      // Forgotten and unknown ones say so.
      await this.store.findSession(id).catch((error) => this.unlessExpected(id, error));
      throw new Refusal("NOT_FOUND", "this session has made no call yet", "it is shown here once it has made one");
    }
    const view = await this.courses.get(`${id} ${info.txId}`, () => this.course(info));
    this.told.set(id, info.txId);
    return view;
  }

  /**
   * A session over time.
   * @param {import("../../index.js").SessionInfo} info
   * @returns {Promise<SessionView>}
   */
  async course(info) {
    const [ledger, timeline] = await Promise.all([
      this.turns.take(() => this.store.ledger(info.id)),
      this.turns.take(() => this.store.timeline(info.id)),
    ]);
    return { info, ledger, timeline };
  }

  /**
   * @param {string} id
   * @param {number} call
   * @returns {Promise<CallView>}
   */
  async call(id, call) {
    return shownCall(await this.compared(id, call, "before"));
  }

  /**
   * @param {string} id
   * @param {number} call
   * @returns {Promise<PlainView>}
   */
  async plain(id, call) {
    const compared = await this.compared(id, call, "plain");
    return comparison(compared.call, /** @type {RecordedCall} */ (compared.other), compared.changes);
  }

  /**
   * @param {string} id
   * @param {number} call
   * @param {"before" | "plain"} against
   */
  compared(id, call, against) {
    const compare = () => this.store.comparedCall(id, { call, against });
    return this.calls.get(`${id} ${call} ${against}`, () => this.turns.take(compare));
  }

  /**
   * @param {string} id
   * @param {number} call
   * @param {number} at
   * @param {string} of
   */
  async message(id, call, at, of) {
    const given = await this.compared(id, call, of === "plain" ? "plain" : "before");
    const lists = { sent: given.call.messages, plain: given.other?.messages, payload: given.call.payload?.messages };
    const message = lists[/** @type {keyof typeof lists} */ (of)]?.[at];
    if (message === undefined) {
      throw new Refusal("NOT_FOUND", `call ${call} has no message ${at} of \`${of}\``);
    }
    return message;
  }

  /**
   * @param {string} name
   * @param {string | null} session where a handle counts
   * @returns {Promise<ObjectView>}
   */
  async object(name, session) {
    const isHandle = session !== null && /^[fts]\d+$/.test(name);
    const id = isHandle ? await this.store.findHandle(session, name) : await this.store.find(name);
    const versions = await this.store.history(id);
    const [links, backlinks, disk] = await Promise.all([
      this.relations((store) => store.links(id)),
      this.relations((store) => store.backlinks(id)),
      diskState(versions[0], this.around.settings, (path) => this.store.find(path)),
    ]);
    return { id, versions, links, backlinks, disk };
  }

  /**
   * What objects refer to and what refers to them, by their IDs; empty where that cannot be told of one: each says so itself.
   * @param {string[]} ids
   * @returns {Promise<Map<string, import("../../index.js").ObjectRelations>>}
   */
  async related(ids) {
    const found = await this.relations((store) => store.relations(ids)).catch(() => []);
    return new Map(found.map((relations, at) => [ids[at], relations]));
  }

  /**
   * Relations need an index, which may have to be brought up to date before.
   * @template T
   * @param {(store: Store) => Promise<T>} read
   */
  relations(read) {
    return this.turns
      .take(() => read(this.store))
      .catch((error) => {
        if (error.code === "READ_ONLY") {
          return this.refreshed(read);
        }
        throw error;
      });
  }

  /**
   * One at a time, so that many requests do not open many stores.
   * @template T
   * @param {(store: Store) => Promise<T>} work
   */
  refreshed(work) {
    return this.refreshTurns.take(() => this.around.refreshed(work));
  }

  /**
   * @param {string} name
   * @param {number} tx
   */
  async content(name, tx) {
    const content = await this.store.content(name, { at: tx });
    if (content === null) {
      throw new Refusal("NOT_FOUND", `version ${tx} of \`${name}\` has no content`);
    }
    return content;
  }

  /**
   * @param {string} name
   * @param {number} from
   * @param {number} to
   */
  async diff(name, from, to) {
    return (await this.turns.take(() => this.store.diff(name, { from, to }))).unified;
  }

  /**
   * @param {string} session
   * @returns {Promise<MemoryView>}
   */
  async memory(session) {
    const { fields } = await this.store.get(await this.store.findSession(session));
    return memoryOf({ agentDir: this.around.agentDir, project: String(fields.cwd) }, this.store);
  }

  /**
   * @param {string} id
   * @returns {Promise<AsSet>}
   */
  async asSet(id) {
    return asSet(await this.knownOf(id));
  }

  /**
   * What counts when a session is played again.
   * @param {string} id
   */
  async knownOf(id) {
    const settings = { ...(await loadSettings({})), ...this.around.settings };
    return { ...(await this.session(id)), settings };
  }

  /**
   * @param {string} id
   * @param {import("./what-if.js").Asked} asked
   * @returns {Promise<WhatIf>}
   */
  async whatIf(id, asked) {
    const known = await this.knownOf(id);
    const { info } = known;
    const options = playedAgain(known, asked);
    const play = (/** @type {import("../../index.js").ReplayOptions} */ how) =>
      this.played.get(`${info.id} ${info.txId} ${JSON.stringify(how)}`, () =>
        this.playTurns.take(() => this.store.replaySession(info.id, how)),
      );
    const [before, after] = await Promise.all([play(options.before), play(options.after)]);
    return { before, after };
  }

  /**
   * The newest transaction of a session, and the one that viewers know.
   * @param {string} id empty: of the session that was written last
   */
  async newest(id) {
    const session =
      id === "" ? this.writtenLast() : this.store.get(id).catch((error) => this.unlessExpected(id, error));
    const { txId } = await session;
    return { now: txId, told: this.told.get(id) ?? txId };
  }

  async writtenLast() {
    const [session] = await this.turns.take(() => this.store.sessions({ limit: 1 }));
    return session ?? { txId: 0 };
  }

  /**
   * A host may ask for its session before that is stored, which the first call does.
   * @param {string} id
   * @param {unknown} error
   */
  unlessExpected(id, error) {
    if (id === this.around.session && /** @type {{ code?: unknown }} */ (error)?.code === "UNKNOWN_NAME") {
      return { txId: 0 };
    }
    throw error;
  }
}
