// The objects that a session met, for a page that carries its data: the versions that its records name, with contents and differences.
import { textDelta } from "./deltas.js";
import { failureOf } from "./failures.js";

/**
 * @import { ObjectRelations, Version } from "../../index.js"
 * @import { CarriedObject, Failure, ObjectView, SessionView } from "../protocol.js"
 * @import { Answers } from "./answers.js"
 *
 * @typedef {object} ReadObject
 * @property {ObjectView} view
 * @property {(string | { error: Failure } | null)[]} contents of its versions; null for one without
 * @property {(string | { error: Failure })[]} diffs between neighbours
 */

/**
 * The hashes in a session's records, and in those that it began with: only the versions that have one of them did it meet.
 * @param {Answers} answers
 * @param {SessionView} session
 */
export async function recordedHashes({ store }, { info }) {
  const all = new Map((await store.sessions()).map((session) => [session.id, session]));
  /** @type {Set<string>} */
  const found = new Set();
  let until = info.txId;
  // What an archive of somebody else says of origins may go in a circle.
  for (let one = all.get(info.id); one !== undefined && all.delete(one.id); one = all.get(one.parentId ?? "")) {
    const at = Math.min(until, one.txId);
    for (const id of [one.id, one.chatId]) {
      const items = await store.items(id, { at }).catch(orNone);
      for (const [, hash] of items.flatMap((item) => [...item.matchAll(/"([0-9a-f]{64})"/g)])) {
        found.add(hash);
      }
    }
    until = (await store.history(one.id)).at(-1)?.txId ?? 0;
  }
  return found;
}

/**
 * An object as far as the session saw it. What other sessions say of it stays out.
 * @param {Answers} answers
 * @param {SessionView} session
 * @param {string} id
 * @param {ReadonlySet<string>} recorded hashes of what the session met
 * @param {ObjectRelations} [related] its relations, where they are known
 * @returns {Promise<ReadObject>}
 */
export async function readObject(answers, { info, timeline }, id, recorded, related) {
  const own = new Set([info.id, info.chatId, ...timeline.objects.map((object) => object.id)]);
  const view =
    related === undefined
      ? await answers.object(id, null)
      : { id, versions: await answers.store.history(id), ...related };
  const versions = view.versions.filter(({ txId, contentHash }) => txId <= info.txId && recorded.has(contentHash));
  const contents = await Promise.all(versions.map((version) => contentOf(answers, version)));
  const diffs = await Promise.all(versions.slice(1).map((older, at) => diffOf(answers, older, versions[at])));
  const backlinks = view.backlinks.filter(({ from }) => own.has(from));
  return { view: { ...view, versions, backlinks, disk: null }, contents, diffs };
}

/**
 * @param {Answers} answers
 * @param {Version} version
 */
function contentOf(answers, { id, txId, type, content }) {
  const hasText = content !== null || type === "chat_segment";
  return hasText ? answers.content(id, txId).catch(asError) : null;
}

/**
 * Empty between objects: a file that moved is another one.
 * @param {Answers} answers
 * @param {Version} older
 * @param {Version} newer
 */
async function diffOf(answers, older, newer) {
  return older.id === newer.id ? answers.diff(newer.id, older.txId, newer.txId).catch(asError) : "";
}

/** A session that came into the store after its fork had no items then. @param {unknown} error @returns {never[]} */
function orNone(error) {
  if (/** @type {{ code?: unknown }} */ (error).code === "NOT_FOUND") {
    return [];
  }
  throw error;
}

/** @param {unknown} error */
function asError(error) {
  return { error: failureOf(error) };
}

/**
 * Contents as the page carries them. `messages`: places of texts that have these contents, by content.
 * @param {ReadObject["contents"]} contents
 * @param {ReadonlyMap<string, number>} messages
 * @returns {CarriedObject["contents"]}
 */
export function carriedContents(contents, messages) {
  let before = "";
  return contents.map((content) => {
    if (typeof content !== "string") {
      return content;
    }
    const message = messages.get(content);
    const delta = message === undefined ? textDelta(before, content) : { message };
    before = content;
    return delta;
  });
}
