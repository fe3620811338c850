// What a person hears who asks for the inspector where the host cannot serve it: the command that they run themselves. Opens nothing.

import { typed } from "./program.js";

/** @import { Store } from "../index.js" */

/**
 * @param {Store} store
 * @param {string | null} session ID of the one to look at
 * @param {string} place where the command is to be run, and when, as the start of a sentence
 */
export async function openElsewhere(store, session, place) {
  if (store.path === ":memory:") {
    return "This session is kept in memory: no other program can look at it.";
  }
  // Before its first call nothing has its name.
  const isStored = session !== null && (await store.get(session).then(Boolean, () => false));
  return `${place}: \`${typed(["open", ...(isStored ? [session] : [])], store.path)}\``;
}
