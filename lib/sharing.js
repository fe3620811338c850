// How a store stands with the one that several machines share, in words for people, and a look at it from time to time. Decides nothing.
import { age, counted, oneLine } from "./words.js";

/** @import { SharingRestored, SharingStatus } from "../index.js" */

/** What waits, or fails, for less than this is on its way, and nobody needs to know. */
export const patienceMs = 10_000;
/** Between two looks. */
const lookEveryMs = 5_000;
/** For so long a report says that the shared store had lost something, after it has it again. */
const recentMs = 86_400_000;
/** Characters of an error in a line. */
const maxProblem = 300;

/**
 * The lines of a report, without a heading.
 * @param {SharingStatus} status
 * @param {number} now in milliseconds since 1970
 */
export function sharingLines(status, now = Date.now()) {
  const { url, outbox, oldest, behind, last, error, ahead, restored, sessions } = status;
  const since = oldest === null ? "" : `, the oldest for ${age(now - Date.parse(oldest))}`;
  const waits = [
    ...(outbox === 0
      ? []
      : [`${counted(outbox, "transaction")} ${outbox === 1 ? "waits" : "wait"} to be sent${since}`]),
    ...(behind ? [`${counted(behind, "transaction")} of others to be fetched`] : []),
  ];
  const alike =
    last === null ? "nothing was shared yet" : `nothing waits; last sent ${age(now - Date.parse(last))} ago`;
  const lines = [`${url}: ${waits.length === 0 ? alike : waits.join("; ")}`];
  lines.push(sessions ? "files and sessions are shared" : "files are shared, sessions stay here");
  if (ahead > 0) {
    lines.push(
      `${counted(ahead, "version")} of others not taken yet: by this machine's clock they are from the future`,
    );
  }
  if (restored !== null && (restored.done === null || now - Date.parse(restored.done) < recentMs)) {
    lines.push(`it ${restoredText(restored, now)}`);
  }
  if (error !== null) {
    lines.push(
      `not working for ${age(now - Date.parse(error.since))}: ${oneLine(error.message, maxProblem)} (${error.code})`,
    );
  }
  return lines;
}

/**
 * What waits to be sent to the shared store of a store's settings; null where nothing waits, or nothing is shared.
 * @param {import("../index.js").Store} store
 */
export async function waitingText(store) {
  const shared = await store.shared().catch(() => null);
  const status = await shared?.status();
  if (!status?.outbox) {
    return null;
  }
  const { url, outbox, oldest } = status;
  return `${counted(outbox, "transaction")} ${outbox === 1 ? "waits" : "wait"} to be sent to ${url}, the oldest for ${age(Date.now() - Date.parse(oldest ?? ""))}`;
}

/**
 * What happened to a shared store that lost something, and what was sent again.
 * @param {SharingRestored} restored
 * @param {number} now in milliseconds since 1970
 */
export function restoredText({ noticed, isOther, versions, done }, now = Date.now()) {
  const what = isOther ? "was found empty" : "was found put back to an older state";
  const again = `${counted(versions, "version")} ${versions === 1 ? "was" : "were"} sent again`;
  const ago = `${age(now - Date.parse(noticed))} ago`;
  return `${what} ${ago}; ${done === null ? `what it lacks is sent again, ${versions} so far` : again}`;
}

/**
 * Such as `↑ 14 waiting (XTDB does not answer)`; undefined while all is as it should be, and for a moment after that.
 * @param {SharingStatus} status
 * @param {number} now in milliseconds since 1970
 */
export function sharingMark({ outbox, oldest, error }, now = Date.now()) {
  const why = error !== null && now - Date.parse(error.since) >= patienceMs ? shortReason(error.code) : undefined;
  const waiting = outbox > 0 && oldest !== null && now - Date.parse(oldest) >= patienceMs;
  if (waiting) {
    return `↑ ${outbox} waiting${why === undefined ? "" : ` (${why})`}`;
  }
  return why;
}

/** @param {string} code */
function shortReason(code) {
  switch (code) {
    case "XTDB_UNAVAILABLE":
      return "XTDB does not answer";
    case "XTDB_REFUSED":
      return "XTDB refuses us";
    case "XTDB_FOREIGN":
      return "no XTDB 1 there";
    default:
      return `not shared: ${code}`;
  }
}

/**
 * Looks from time to time how sharing stands, without keeping the process alive. Ends by itself where nothing is shared.
 * @param {() => Promise<SharingStatus | null>} look
 * @param {{ changed?: (mark: string | undefined) => void, notice: (text: string) => void }} told `changed`: of the mark for a status
 * line; `notice`: once for each way in which it fails, when it works again, and when it has what it had lost
 * @returns {() => void} ends it
 */
export function watchSharing(look, { changed, notice }) {
  /** @type {Set<string>} */
  const said = new Set();
  const began = Date.now() - patienceMs;
  /** The loss that was told of, by its time. @type {string | undefined} */
  let told;
  /** @type {string | undefined} */
  let mark;
  let looking = false;
  const once = async () => {
    if (looking) {
      return;
    }
    looking = true;
    try {
      const status = await look();
      if (status === null) {
        end();
        return;
      }
      tell(status);
    } catch {
      // The store is closed, or says so itself elsewhere.
    } finally {
      looking = false;
    }
  };
  /** @param {SharingStatus} status */
  const tell = (status) => {
    const now = Date.now();
    const { error, restored } = status;
    if (restored !== null && restored.done !== null && told !== restored.noticed) {
      told = restored.noticed;
      if (Date.parse(restored.done) >= began) {
        notice(`the shared store ${status.url} ${restoredText(restored, now)}`);
      }
    }
    if (error === null && said.size > 0) {
      said.clear();
      notice(`the shared store ${status.url} works again`);
    } else if (error !== null && now - Date.parse(error.since) >= patienceMs && !said.has(error.code)) {
      said.add(error.code);
      notice(`nothing is shared for now, and what waits is kept: ${oneLine(error.message, maxProblem)}`);
    }
    const next = sharingMark(status, now);
    if (next !== mark) {
      mark = next;
      changed?.(mark);
    }
  };
  const timer = setInterval(() => void once(), lookEveryMs);
  timer.unref();
  const end = () => clearInterval(timer);
  void once();
  return end;
}
