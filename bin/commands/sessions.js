// `palimpsest sessions`: the sessions of the store.

import { whose } from "../../lib/describe.js";
import { waitingText } from "../../lib/sharing.js";
import { cut } from "../../lib/words.js";
import { wholeNumber } from "../lib/arguments.js";
import { isTerminal, noteNothing, writeError, writeJson } from "../lib/output.js";
import { withStore } from "../lib/store.js";
import { shownTime, writeTable } from "../lib/table.js";

/** Characters of a UUID that a terminal shows of a session: the time at which it began, to the millisecond. */
const shownCharacters = 13;

/** Characters of a title that a terminal shows, so that the folder is in sight. */
const shownTitle = 32;

/** @type {import("../lib/arguments.js").Command} */
export const sessions = {
  name: "sessions",
  usage: "[--limit N]",
  summary: "List the sessions, last written first",
  arguments: [0, 0],
  options: { limit: { type: "string", value: "N", text: "largest number of sessions; default: all" } },
  notes: [
    "Columns: ID, calls, last written, title, working folder, state, harness, first opened, origin, sharing: `waits` where something of it is not sent yet to the shared store, or who wrote it on which other machine. The title is the first words of the first message. A session is `active` while it is open, or if its process was killed. A `parted` session went on by itself because another process wrote to its origin. Sessions that made no call and forgotten ones are left out.",
  ],
  json: "{ sessions: SessionInfo[] }",
  examples: ["palimpsest sessions --limit 10", "palimpsest sessions --json"],
  async run(given) {
    const limit = wholeNumber(given, "limit");
    await withStore(given, async (store) => {
      const found = await store.sessions({ limit });
      if (given.json) {
        return writeJson({ sessions: found });
      }
      if (found.length === 0) {
        await noteNothing("there are no sessions yet");
      }
      const ids = shownIds(found.map(({ id }) => id));
      const titles = new Map(found.map(({ id, title }) => [id, title]));
      const parentOf = (/** @type {string} */ id) => (isTerminal() ? cut(titles.get(id) ?? id, shownTitle) : id);
      const rows = found.map((session, at) => [
        ids[at],
        String(session.calls),
        shownTime(session.updated),
        isTerminal() ? cut(session.title ?? "untitled", shownTitle) : (session.title ?? ""),
        session.cwd,
        session.state,
        session.harness,
        shownTime(session.started),
        session.parentId === null ? "-" : `${session.origin} from ${parentOf(session.parentId)}`,
        session.waits ? "waits" : (whose(session) ?? "-"),
      ]);
      const rest = ["FOLDER", "STATE", "HARNESS", "STARTED", "ORIGIN", "SHARING"];
      const headings = ["SESSION", "CALLS", "UPDATED", "TITLE", ...rest];
      const order = ["TITLE", "CALLS", "UPDATED", "SESSION", ...rest];
      await writeTable(headings, rows, { order });
      const waiting = await waitingText(store);
      if (waiting !== null) {
        await writeError(`palimpsest: ${waiting}\n`);
      }
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
