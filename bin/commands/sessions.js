// `palimpsest sessions`: the sessions of the store.
import { isTerminal, noteNothing, writeJson } from "../lib/output.js";
import { withStore } from "../lib/store.js";
import { shownTime, writeTable } from "../lib/table.js";

/** Characters of a UUID that a terminal shows of a session: the time at which it began, to the millisecond. */
const shownCharacters = 13;

/** @type {import("../lib/arguments.js").Command} */
export const sessions = {
  name: "sessions",
  usage: "",
  summary: "List the sessions, last written first",
  arguments: [0, 0],
  options: {},
  notes: [
    "Columns: ID, calls, state, last written, working folder, harness, first opened, origin. A session is `active` while it\nis open, or if its process was killed. A `parted` session went on by itself because another process wrote to its origin.",
  ],
  json: "{ sessions: SessionInfo[] }",
  examples: ["palimpsest sessions --json"],
  async run(given) {
    await withStore(given, async (store) => {
      const found = await store.sessions();
      if (given.json) {
        return writeJson({ sessions: found });
      }
      const headings = ["SESSION", "CALLS", "STATE", "UPDATED", "FOLDER", "HARNESS", "STARTED", "ORIGIN"];
      if (found.length === 0) {
        await noteNothing("there are no sessions yet");
      }
      const ids = shownIds(found.map(({ id }) => id));
      const rows = found.map((session, at) => [
        ids[at],
        String(session.calls),
        session.state,
        shownTime(session.updated),
        session.cwd,
        session.harness,
        shownTime(session.started),
        session.parentId === null ? "-" : `${session.origin} from ${session.parentId}`,
      ]);
      await writeTable(headings, rows);
    });
  },
};

/**
 * The IDs, on a terminal shortened to what still names the session.
 * @param {string[]} ids
 */
function shownIds(ids) {
  const keys = ids.map((id) => id.replace(/^session:/, ""));
  const short = (/** @type {string} */ key) => key.slice(0, shownCharacters);
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const key of keys) {
    counts.set(short(key), (counts.get(short(key)) ?? 0) + 1);
  }
  return ids.map((id, at) => {
    const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(keys[at]);
    const isUnique = counts.get(short(keys[at])) === 1;
    return isTerminal() && isUuid && isUnique ? short(keys[at]) : id;
  });
}
