// A source that remembers what it was answered, so that going back and forth asks nothing twice. Must not decide what is shown.

/** @typedef {import("../../protocol.js").Source} Source */
/** @typedef {Source & { forget: (session: string | null) => void }} Remembering */

/** How many sessions, and how many calls, are remembered. */
const MOST = { session: 4, call: 24 };

/**
 * The source, remembering sessions and calls. `forget`: of a session that was written since; null: of all.
 * @param {Source} source
 * @returns {Remembering}
 */
export function remembering(source) {
  const sessions = remembered(source.session, MOST.session);
  const calls = remembered(source.call, MOST.call);
  return {
    ...source,
    session: (id) => sessions.ask([id]),
    call: (id, call) => calls.ask([id, call]),
    forget: (session) => {
      sessions.forget(session);
      calls.forget(session);
    },
  };
}

/**
 * @template {[string, ...unknown[]]} Arguments
 * @template Answer
 * @param {(...asked: Arguments) => Promise<Answer>} ask
 * @param {number} most
 */
function remembered(ask, most) {
  /** @type {Map<string, { about: string, answer: Promise<Answer> }>} */
  const known = new Map();
  return {
    /** @param {Arguments} asked */
    ask: (asked) => {
      const key = JSON.stringify(asked);
      const found = known.get(key);
      known.delete(key);
      const entry = found ?? { about: asked[0], answer: ask(...asked) };
      known.set(key, entry);
      // What failed is asked again.
      entry.answer.catch(() => known.get(key) === entry && known.delete(key));
      if (known.size > most) {
        known.delete(/** @type {string} */ (known.keys().next().value));
      }
      return entry.answer;
    },
    /** @param {string | null} about */
    forget: (about) => {
      for (const [key, entry] of known) {
        if (about === null || entry.about === about) {
          known.delete(key);
        }
      }
    },
  };
}
