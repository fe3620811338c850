// `palimpsest sync`: how the store stands with the one that several machines share, sending and fetching by hand, and the sessions there.
import { existsSync } from "node:fs";
import { plural } from "../../lib/describe.js";
import { restoredText } from "../../lib/sharing.js";
import { age } from "../../lib/words.js";
import { text, UsageError } from "../lib/arguments.js";
import { changedLines, leftOutLines } from "../lib/merged.js";
import { noteNothing, write, writeError, writeJson } from "../lib/output.js";
import { progressText, withProgress } from "../lib/progress.js";
import { forSharing, storePath, withStore } from "../lib/store.js";
import { pairs, shownTime, writeTable } from "../lib/table.js";

/**
 * @import { PullReport, PushReport, SharedStore, SharingStatus } from "../../index.js"
 * @import { Given } from "../lib/arguments.js"
 *
 * @typedef {object} Part
 * @property {boolean} takesSession
 * @property {boolean} needsStore whether there must be a store of one's own
 * @property {import("../lib/store.js").Access} access
 * @property {(shared: SharedStore, given: Given, session: string | undefined) => Promise<number | void>} run
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
};

/** @type {import("../lib/arguments.js").Command} */
export const sync = {
  name: "sync",
  usage: "PART [SESSION] [--url URL] [--token-file FILE] [--ca-file FILE] [--sessions]",
  summary: "Share with a store in XTDB, and see what waits",
  arguments: [1, 2],
  options: {
    ...serverOptions,
    sessions: { type: "boolean", text: "`push`: sessions too; default: the setting `shareSessions`" },
  },
  notes: [
    "PART is `status`, `push`, `pull` or `sessions`. Sessions share by themselves while they are open, if the setting `xtdbUrl` is set; docs/xtdb.md says what. Here it is done by hand. `status` asks the server and says what waits, here and there. `push` sends what waits, `pull` fetches what others sent; either may be repeated, and what was done before it broke off stays. `push SESSION` sends one session, without what looks like a secret; `sessions` lists those that are there, and `pull SESSION` fetches one.",
    "Exit code of `status`: 0 if all works, also where something waits; 1 if the server cannot be used. The token file and the certificates of the settings are used for the server of the settings alone.",
  ],
  json: "SharingStatus, PushReport, PullReport, or { sessions: SharedSession[] }",
  examples: [
    "palimpsest sync status",
    "palimpsest sync push latest",
    "palimpsest sync sessions",
    "palimpsest sync pull 0189ab12",
  ],
  async run(given) {
    const [name, session] = given.positionals;
    const part = parts[name];
    if (part === undefined) {
      throw new UsageError(`\`${name}\` is not a part of sync`, "there are `status`, `push`, `pull` and `sessions`");
    }
    if (session !== undefined && !part.takesSession) {
      throw new UsageError(`\`${session}\` is one argument too many`, "`push` and `pull` take a session");
    }
    const options = {
      url: text(given, "url"),
      tokenFile: text(given, "token-file"),
      caFile: text(given, "ca-file"),
      sessions: given.values.sessions === true ? true : undefined,
    };
    // On a machine without a store there is nothing to wait, and everything to be fetched.
    const isNew = part.access === "write" && !part.needsStore && !existsSync(await storePath(given));
    const place = isNew ? { ...given, store: ":memory:" } : given;
    return withStore(place, async (store) => part.run(await store.shared(options), given, session), {
      access: part.access,
      needed: forSharing,
    });
  },
};

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
  /** @type {PullReport} */
  const fetched = await withProgress("syncing", (report) =>
    session === undefined ? shared.pull(progressText(report)) : shared.pullSession(session),
  );
  if (given.json) {
    return writeJson(fetched);
  }
  const forgotten = fetched.forgotten === 0 ? "" : `; ${plural(fetched.forgotten, "object")} forgotten here`;
  await write(
    `fetched ${plural(fetched.versions, "version")}, ${fetched.present} were here${forgotten}\n` +
      changedLines(fetched.changed) +
      fetched.parted.map(({ id, storedAs }) => `${id} went on here in another way: theirs is ${storedAs}\n`).join(""),
  );
  const broken = fetched.broken.map((problem) => `palimpsest: passed over: ${problem}\n`);
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
  const rows = found.map(({ id, updated, cwd, state, harness, hostSessionId, storeId }) => [
    id,
    shownTime(updated),
    cwd,
    state,
    harness,
    hostSessionId,
    storeId,
  ]);
  await writeTable(["SESSION", "UPDATED", "FOLDER", "STATE", "HARNESS", "HOST'S ID", "STORE"], rows);
}
