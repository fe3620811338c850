// Going on, in a session without messages, with what another session left: in this store, in another one, or in an archive.
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { binding } from "./addon.js";
import { plural } from "./describe.js";
import { name as spelt } from "./terminal.js";

/**
 * @typedef {import("../index.js").Session} Session
 * @typedef {import("../index.js").Store} Store
 */

/** How every SQLite file begins (https://www.sqlite.org/fileformat.html, section 1.3). */
const sqliteHeader = "SQLite format 3\0";

/**
 * Has a session go on with another one. `given`: `NAME [FILE]`: the other session by its name, and the store or the archive that holds
 * it, where that is not this store. Resolves to what to tell the person.
 *
 * @param {{ session: Session, store: Store, cwd: string }} opened
 * @param {string} given
 * @returns {Promise<string>}
 */
export async function continued({ session, store, cwd }, given) {
  const [, name = "", file = ""] = /^(\S+)\s*(.*?)$/s.exec(given.trim()) ?? [];
  const id = file === "" ? await store.findSession(name) : await fetched(store, name, resolve(cwd, file));
  const { harness, turns, objects, pinned, tokens } = await session.continueFrom(id);
  const kept = `${plural(objects, "object")} with their handles, ${pinned} pinned`;
  return `This session goes on with \`${spelt(id)}\` (${spelt(harness)}, ${plural(turns, "turn")}): ${kept}. The model is told with your next message (${plural(tokens, "token")}). That session stays as it is.`;
}

/**
 * Brings a session into this store; resolves to its ID here.
 * @param {Store} store
 * @param {string} name
 * @param {string} file a store or an archive
 */
async function fetched(store, name, file) {
  if (!(await isStore(file))) {
    const { parted } = await store.maintenance.importArchive({ path: file });
    return idHere(await store.findSession(name), parted);
  }
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-"));
  const other = await binding.openStore({ path: file, readOnly: true });
  try {
    const id = await other.findSession(name);
    const path = join(folder, "session.jsonl");
    await other.maintenance.exportArchive({ path, session: id });
    const { parted } = await store.maintenance.importArchive({ path });
    return idHere(id, parted);
  } finally {
    await other.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * A session that went on here in another way has the archive's beside it.
 * @param {string} id
 * @param {readonly { id: string, storedAs: string }[]} parted
 */
function idHere(id, parted) {
  return parted.find((known) => known.id === id)?.storedAs ?? id;
}

/** @param {string} file */
async function isStore(file) {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(sqliteHeader.length), 0, sqliteHeader.length, 0);
    return buffer.toString("latin1") === sqliteHeader;
  } finally {
    await handle.close();
  }
}
