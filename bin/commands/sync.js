// `palimpsest sync`: how the store stands with the one that several machines share, sending and fetching by hand, and the sessions there.
import { existsSync } from "node:fs";
import { plural, whose } from "../../lib/describe.js";
import { restoredText } from "../../lib/sharing.js";
import { line, name } from "../../lib/terminal.js";
import { age } from "../../lib/words.js";
import { text, UsageError } from "../lib/arguments.js";
import { changedLines, leftOutLines } from "../lib/merged.js";
import { noteNothing, write, writeError, writeJson } from "../lib/output.js";
import { progressText, withProgress } from "../lib/progress.js";
import { forSharing, storePath, withStore } from "../lib/store.js";
import { pairs, shownTime, writeTable } from "../lib/table.js";

/**
 * @import { PullReport, PushReport, SharedStore, SharingStatus, Store } from "../../index.js"
 * @import { Given } from "../lib/arguments.js"
 *
 * @typedef {object} Part
 * @property {boolean} takesSession
 * @property {boolean} needsStore whether there must be a store of one's own
 * @property {import("../lib/store.js").Access} access
 * @property {(shared: SharedStore, given: Given, session: string | undefined, store: Store) => Promise<number | void>} run
 */

/** How to reach a shared store. @type {Record<string, import("../lib/arguments.js").Option>} */
export const serverOptions = {
  url: { type: "string", value: "URL", text: "address of XTDB's HTTP server; default: the setting `xtdbUrl`" },
  "token-file": { type: "string", value: "FILE", text: "file with the token to send, readable for you only" },
  "ca-file": { type: "string", value: "FILE", text: "certificate authorities in PEM form, besides the system's" },
};

/** @type {Record<string, Part>} */
const parts = {
  status: { takesSession: false, needsStore: false, access: "write", run: status },
  push: { takesSession: true, needsStore: true, access: "write", run: push },
  pull: { takesSession: true, needsStore: false, access: "create", run: pull },
  sessions: { takesSession: false, needsStore: false, access: "write", run: sessions },
  machines: { takesSession: false, needsStore: false, access: "write", run: machines },
};

/** @type {import("../lib/arguments.js").Command} */
export const sync = {
  name: "sync",
  usage: "PART [SESSION] [--url URL] [--token-file FILE] [--ca-file FILE] [--sessions WHICH]",
  summary: "Share with a store in XTDB, and see what waits",
  arguments: [1, 2],
  options: {
    ...serverOptions,
    sessions: {
      type: "string",
      value: "WHICH",
      text: "sessions too: of others `new`, those that are not here, or `all`, with what was added to those that are; of one's own `all`, default: the setting `shareSessions`; or the name of one, and nothing else",
    },
  },
  notes: [
    "PART is `status`, `push`, `pull`, `sessions` or `machines`. Sessions share by themselves while they are open, if the setting `xtdbUrl` is set; docs/xtdb.md says what. Here it is done by hand. `status` asks the server and says what waits, here and there. `push` sends what waits, `pull` fetches what others sent; either may be repeated, and what was done before it broke off stays. `push SESSION` sends one session, without what looks like a secret; `sessions` lists those that are there, and `pull SESSION` fetches one. `machines` lists who shares, when each last sent something, and what waits: to be sent of this machine alone, since only it knows; to be fetched of others as of when they last said so.",
    "Exit code of `status`: 0 if all works, also where something waits; 1 if the server cannot be used. The token file and the certificates of the settings are used for the server of the settings alone.",
  ],
  json: "SharingStatus, PushReport, PullReport, { sessions: SharedSession[] } or { machines: SharingMachine[] }",
  examples: [
    "palimpsest sync status",
    "palimpsest sync push latest",
    "palimpsest sync sessions",
    "palimpsest sync pull --sessions new",
    "palimpsest sync pull 0189ab12",
  ],
  async run(given) {
    const [word, named] = given.positionals;
    const which = text(given, "sessions");
    const session = named ?? (isSome(which) ? undefined : which);
    const part = parts[word];
    if (part === undefined) {
      throw new UsageError(
        `\`${word}\` is not a part of sync`,
        "there are `status`, `push`, `pull`, `sessions` and `machines`",
      );
    }
    if (session !== undefined && !part.takesSession) {
      throw new UsageError(`\`${session}\` is one argument too many`, "`push` and `pull` take a session");
    }
    const options = {
      url: text(given, "url"),
      tokenFile: text(given, "token-file"),
      caFile: text(given, "ca-file"),
      sessions: isSome(which) && part === parts.push ? true : undefined,
    };
    // On a machine without a store there is nothing to wait, and everything to be fetched.
    const isNew = part.access === "write" && !part.needsStore && !existsSync(await storePath(given));
    const place = isNew ? { ...given, store: ":memory:" } : given;
    return withStore(place, async (store) => part.run(await store.shared(options), given, session, store), {
      access: part.access,
      needed: forSharing,
    });
  },
};

/** Whether several sessions are meant. @param {string | undefined} which @returns {which is "new" | "all"} */
function isSome(which) {
  return which === "new" || which === "all";
}

/** @type {Part["run"]} */
async function status(shared, given) {
  const found = await withProgress("asking the server", () => shared.look());
  await (given.json ? writeJson(found) : write(pairs(described(found))));
  return found.error === null ? 0 : 1;
}

/** @param {SharingStatus} status */
function described({ url, storeId, outbox, oldest, behind, last, error, ahead, restored, sessions }) {
  const now = Date.now();
  const isWhole = restored === null || restored.done !== null;
  const isAlike = outbox === 0 && behind === 0 && ahead === 0 && error === null && isWhole;
  const since = oldest === null ? "" : `, the oldest for ${age(now - Date.parse(oldest))}`;
  return {
    "shared store": url,
    id: storeId ?? "never reached",
    shared: sessions ? "files and sessions" : "files; sessions stay here",
    "waits to be sent": outbox === 0 ? "nothing" : `${plural(outbox, "transaction")}${since}`,
    "waits to be fetched": behind === null ? "not known" : behind === 0 ? "nothing" : plural(behind, "transaction"),
    ...(ahead === 0 ? {} : { "from the future": `${plural(ahead, "version")}, by this machine's clock` }),
    ...(restored === null ? {} : { "what it lost": `it ${restoredText(restored, now)}` }),
    "all was alike": isAlike ? "now" : last === null ? "never" : `${last}, ${age(now - Date.parse(last))} ago`,
    ...(error === null ? {} : { error: `${error.message} (${error.code})${lasting(now - Date.parse(error.since))}` }),
  };
}

/** For how long something has failed, if not just since it was asked. @param {number} ms */
function lasting(ms) {
  return ms < 5_000 ? "" : `, for ${age(ms)}`;
}

/** @type {Part["run"]} */
async function push(shared, given, session) {
  /** @type {PushReport} */
  const sent = await withProgress("syncing", (report) =>
    session === undefined ? shared.push(progressText(report)) : shared.pushSession(session),
  );
  if (given.json) {
    return writeJson(sent);
  }
  const forgotten = sent.forgotten === 0 ? "" : `; ${plural(sent.forgotten, "object")} forgotten there`;
  const again = sent.again === 0 ? "" : `; ${sent.again} of them again, because it had lost them`;
  await write(`sent ${plural(sent.versions, "version")}, ${sent.present} were there${again}${forgotten}\n`);
  await writeError(leftOutLines(sent.leftOut));
}

/** @type {Part["run"]} */
async function pull(shared, given, session) {
  const which = text(given, "sessions");
  /** @type {PullReport} */
  const fetched = await withProgress("syncing", (report) =>
    session !== undefined
      ? shared.pullSession(session)
      : isSome(which)
        ? shared.pullSessions(which, progressText(report))
        : shared.pull(progressText(report)),
  );
  if (given.json) {
    return writeJson(fetched);
  }
  const forgotten = fetched.forgotten === 0 ? "" : `; ${plural(fetched.forgotten, "object")} forgotten here`;
  await write(
    `fetched ${plural(fetched.versions, "version")}, ${fetched.present} were here${forgotten}\n` +
      changedLines(fetched.changed) +
      fetched.parted
        .map(({ id, storedAs }) => `${name(id)} went on here in another way: theirs is ${name(storedAs)}\n`)
        .join(""),
  );
  const broken = fetched.broken.map((problem) => `palimpsest: passed over: ${line(problem)}\n`);
  await writeError(leftOutLines(fetched.leftOut) + broken.join(""));
}

/** @type {Part["run"]} */
async function sessions(shared, given) {
  const found = await withProgress("asking the server", () => shared.sessions());
  if (given.json) {
    return writeJson({ sessions: found });
  }
  if (found.length === 0) {
    await noteNothing("there are no sessions in the shared store");
  }
  const rows = found.map((session) => [
    session.id,
    shownTime(session.updated),
    session.cwd,
    session.state,
    session.harness,
    session.hostSessionId,
    whose(session) ?? session.storeId,
  ]);
  await writeTable(["SESSION", "UPDATED", "FOLDER", "STATE", "HARNESS", "HOST'S ID", "FROM"], rows);
}

/** @type {Part["run"]} */
async function machines(shared, given, _session, store) {
  const found = await withProgress("asking the server", () => shared.machines());
  if (given.json) {
    return writeJson({ machines: found });
  }
  if (found.length === 0) {
    await noteNothing("no machine shares there yet");
  }
  const { outbox } = await shared.status();
  const rows = found.map(({ storeId, machine, author, seen, behind }) => {
    const waits = [
      ...(storeId === store.id && outbox > 0 ? [`${outbox} to be sent`] : []),
      ...(behind > 0 ? [`${behind} to be fetched`] : []),
    ];
    const here = storeId === store.id ? `${name(machine)} (here)` : name(machine);
    return [here, name(author ?? "-"), shownTime(seen), waits.join(", ") || "nothing", storeId];
  });
  await writeTable(["MACHINE", "AUTHOR", "SEEN", "WAITS", "STORE"], rows);
}
