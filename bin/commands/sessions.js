// `palimpsest sessions`: the sessions of the store.
import { writeJson } from "../lib/output.js";
import { withStore } from "../lib/store.js";
import { shownTime, writeTable } from "../lib/table.js";

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
      const rows = found.map((session) => [
        session.id,
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
