// What `palimpsest doctor` says about a shared store: whether its server answers, what it is, its clock, what waits. Only reads.
import { existsSync } from "node:fs";
import { plural } from "../../lib/describe.js";
import { piAgentDir } from "../../lib/places.js";
import { restoredText } from "../../lib/sharing.js";
import { age } from "../../lib/words.js";
import { openclawSharing } from "./openclaw.js";
import { forSharing } from "./store.js";

/**
 * @import { Finding } from "./installation.js"
 *
 * @typedef {object} SharingLook
 * @property {"pi" | "openclaw"} by whose settings name it: `pi` or `openclaw`
 * @property {string} url
 * @property {import("../../index.js").SharedServer | null} server null where it cannot be used
 * @property {string | null} tokenFile
 * @property {import("../../index.js").SharingStatus | null} status null where there is no store of one's own yet
 */

/** Clocks that differ by more than this are worth a word: by them goes which version is the latest. */
const maxClockMs = 5_000;

/**
 * Looks at the shared stores that the settings of Pi and OpenClaw name.
 * @param {typeof import("../../index.js")} addon
 * @param {{ pi: string, openclaw: string | null }} stores their own stores, by path
 * @returns {Promise<{ looks: SharingLook[], findings: Finding[] }>}
 */
export async function lookAtSharing(addon, stores) {
  /** @type {Finding[]} */
  const findings = [];
  // What is wrong with the settings is said elsewhere.
  const ofPi = await addon.loadSettings({ agentDir: piAgentDir(), needed: forSharing }).catch(() => ({}));
  const looks = await Promise.all([
    look(addon, "pi", ofPi, stores.pi, findings),
    stores.openclaw === null ? null : look(addon, "openclaw", openclawSharing(), stores.openclaw, findings),
  ]);
  return { looks: looks.filter((look) => look !== null), findings };
}

/**
 * @param {typeof import("../../index.js")} addon
 * @param {"pi" | "openclaw"} by
 * @param {Partial<import("../../index.js").Settings>} settings
 * @param {string} path of the store of one's own
 * @param {Finding[]} findings gets what is wrong
 * @returns {Promise<SharingLook | null>} null where nothing is shared
 */
async function look({ openStore }, by, settings, path, findings) {
  const url = process.env.PALIMPSEST_XTDB_URL ?? settings.xtdbUrl ?? "";
  if (url.trim() === "") {
    return null;
  }
  const found = (/** @type {unknown} */ error) => {
    const { message, hint } = /** @type {Error & { hint?: string }} */ (error);
    findings.push({ kind: "sharing", problem: message, advice: hint ?? "docs/xtdb.md says how to set it up" });
    return null;
  };
  const none = () => openStore({ path: ":memory:", settings });
  // What is wrong with the store is said elsewhere.
  const store = await (existsSync(path) ? openStore({ path, settings, readOnly: true }).catch(none) : none());
  try {
    const shared = await store.shared();
    // At once: each has a few seconds.
    const [server, status] = await Promise.all([
      shared.server().catch(found),
      store.path === ":memory:" ? null : shared.look().catch(found),
    ]);
    if (server !== null) {
      findings.push(...serverFindings(server));
      if (status?.error && !server.ingesterFailed) {
        findings.push({ kind: "sharing", problem: status.error.message, advice: "`palimpsest sync push` says more" });
      }
    }
    if (status?.restored?.done === null) {
      const problem = `the shared store \`${url}\` ${restoredText(status.restored)}`;
      findings.push({
        kind: "sharing",
        problem,
        advice: "sessions do that by themselves; `palimpsest sync push` does it now",
      });
    }
    return { by, url, server, tokenFile: settings.xtdbTokenFile ?? null, status };
  } catch (error) {
    return found(error);
  } finally {
    await store.close();
  }
}

/** @param {import("../../index.js").SharedServer} server @returns {Finding[]} */
function serverFindings({ url, ingesterFailed, clockAheadMs }) {
  /** @type {Finding[]} */
  const findings = [];
  if (ingesterFailed) {
    const problem = `the ingester of the XTDB server \`${url}\` has failed: it takes what is sent and shows none of it`;
    findings.push({ kind: "sharing", problem, advice: "start it again; its log says what happened" });
  }
  if (Math.abs(clockAheadMs) > maxClockMs) {
    const problem = `the clock of the XTDB server \`${url}\` is ${clockText(clockAheadMs)} this machine's`;
    findings.push({
      kind: "sharing",
      problem,
      advice: "let both keep time by NTP: which version is the latest goes by clocks",
    });
  }
  return findings;
}

/** @param {SharingLook} look @returns {Record<string, string>} */
export function aboutSharing({ by, url, server, tokenFile, status }) {
  const whose = by === "pi" ? "shared store" : "openclaw's shared store";
  const about = { [whose]: url, "its server": server === null ? "cannot be used" : serverText(server) };
  if (tokenFile !== null) {
    about["its token"] = `in ${tokenFile}`;
  }
  if (status !== null) {
    const { outbox, oldest, behind, restored } = status;
    const since = oldest === null ? "" : `, the oldest for ${age(Date.now() - Date.parse(oldest))}`;
    about["waits to be sent"] = outbox === 0 ? "nothing" : `${plural(outbox, "transaction")}${since}`;
    about["waits to be fetched"] =
      behind === null ? "not known" : behind === 0 ? "nothing" : plural(behind, "transaction");
    if (restored !== null) {
      about["what it lost"] = `it ${restoredText(restored)}`;
    }
  }
  return about;
}

/** @param {import("../../index.js").SharedServer} server */
function serverText({ version, kvStore, ingesterFailed, clockAheadMs, answeredInMs }) {
  const ingester = ingesterFailed ? ", ingester failed" : "";
  return `XTDB ${version} on ${kvStore.split(".").at(-1)}${ingester}, answers in ${answeredInMs} ms, clock ${clockText(clockAheadMs)} ours`;
}

/** @param {number} ms */
function clockText(ms) {
  if (Math.abs(ms) < 1_000) {
    return "as";
  }
  const seconds = Math.abs(ms) / 1_000;
  return `${Math.round(seconds)} s ${ms < 0 ? "behind" : "ahead of"}`;
}
