// `palimpsest sessions`: the sessions of the store.
import { writeJson } from "../lib/output.js";
import { withStore } from "../lib/store.js";
import { shownTime, writeTable } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const sessions = {
  name: "sessions",
  usage: "",
  summary: "List the sessions, the one written last first",
  arguments: [0, 0],
  options: {},
  notes: [
    "Columns: ID, harness, state, calls, first opened, last written, origin, working folder. A session is `active` while it\nis open, or if its process was killed. `parted` is one that went on by itself because another process wrote to its origin.",
  ],
  json: "{ sessions: SessionInfo[] }",
  examples: ["palimpsest sessions --json"],
  async run(given) {
    await withStore(given, async (store) => {
      const found = await store.sessions();
      if (given.json) {
        return writeJson({ sessions: found });
      }
      const headings = ["SESSION", "HARNESS", "STATE", "CALLS", "STARTED", "UPDATED", "ORIGIN", "FOLDER"];
      const rows = found.map((session) => [
        session.id,
        session.harness,
        session.state,
        String(session.calls),
        shownTime(session.started),
        shownTime(session.updated),
        session.parentId === null ? "-" : `${session.origin} from ${session.parentId}`,
        session.cwd,
      ]);
      await writeTable(headings, rows);
    });
  },
};
