// `palimpsest doctor`: checks a store and the installation; with --set-aside, renames a damaged store.
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { plural } from "../../lib/describe.js";
import { piAgentDir } from "../../lib/places.js";
import { withTyped } from "../../lib/program.js";
import { UsageError } from "../lib/arguments.js";
import { lookAtInstallation } from "../lib/installation.js";
import { folderFindings } from "../lib/obstacles.js";
import { write, writeJson } from "../lib/output.js";
import { progressText, withProgress } from "../lib/progress.js";
import { aboutSharing, lookAtSharing } from "../lib/sharing.js";
import { storePath } from "../lib/store.js";
import { pairs, spokenBytes } from "../lib/table.js";

/** Bytes of a store, and sessions that nobody went on with, from which on it says how to keep less. */
const large = 1e9;
const many = 100;
const toKeepLess =
  "What takes the space: `palimpsest stats`. To keep less: `palimpsest gc --unused-days 180`, or `palimpsest gc --outputs unsearched`.";

/** @type {import("../lib/arguments.js").Command} */
export const doctor = {
  name: "doctor",
  usage: "[--deep] [--set-aside [--force]]",
  summary: "Check the store, the settings, and what hosts load",
  arguments: [0, 0],
  options: {
    deep: {
      type: "boolean",
      text: "check everything in the store; without this, of a large one, what was written last",
    },
    "set-aside": {
      type: "boolean",
      text: "rename a damaged store to NAME.corrupt-N, so that the next session creates a new one",
    },
    force: { type: "boolean", text: "with --set-aside: rename the file even if it is not damaged, or no store" },
  },
  notes: [
    "Only reads, unless --set-aside is given. Asks the server of a shared store, if the settings name one. Exit code 1 if something is wrong.",
  ],
  json: "{ healthy: boolean, store: DoctorReport | null, sharing: { by: string, url: string, server: SharedServer | null, tokenFile: string | null, status: SharingStatus | null }[], installation: { version: string, addon: string | null, node: string, platform: string, pi: string | null, loadedFrom: { source: string, version: string | null }[], enabled: boolean | null, log: { file: string, failures: number, newest: string | null }, openclaw: { stateDir: string, version: string | null, engine: string | null, enabled: boolean, store: string | null, log: { file: string, failures: number, newest: string | null } } | null, findings: { kind: string, problem: string, advice: string }[] } }; with --set-aside { path: string, setAside: string }",
  examples: ["palimpsest doctor", "palimpsest doctor --deep", "palimpsest doctor --json"],
  async run(given) {
    const force = given.values.force === true;
    if (force && given.values["set-aside"] !== true) {
      throw new UsageError("`--force` belongs to `--set-aside`", "leave it out");
    }
    if (given.values["set-aside"] === true) {
      const { setAside } = await import("../../index.js");
      const path = await storePath(given);
      const place = await withProgress("checking", () => setAside(path, force));
      await (given.json ? writeJson({ path, setAside: place }) : write(`moved to ${place}\n`));
      return 0;
    }
    const installation = await lookAtInstallation();
    const openclawStore = installation.openclaw?.store ?? null;
    const ownStore = installation.addon === null ? undefined : await storePath(given).catch(() => undefined);
    const stores = [ownStore, openclawStore].filter((path) => typeof path === "string");
    installation.findings.push(...folderFindings([join(piAgentDir(), "palimpsest"), ...stores.map(dirname)]));
    const looked = installation.addon === null ? null : checked(given, openclawStore);
    // Where the store cannot be opened, the rest may say why.
    const store =
      (await looked?.catch(async (error) => {
        await (given.json ? undefined : printInstallation(installation));
        throw error;
      })) ?? null;
    const sharing = installation.addon === null ? nothingShared : await sharingOf(given, openclawStore);
    const findings = [...installation.findings, ...sharing.findings];
    const healthy = findings.length === 0 && store?.healthy !== false;
    await (given.json
      ? writeJson({ healthy, store, sharing: sharing.looks, installation: { ...installation, findings } })
      : print(healthy, store, sharing, installation));
    return healthy ? 0 : 1;
  },
};

/**
 * The check of the store; null where there is none yet and none was named. Where only OpenClaw has one, that is checked.
 * @param {import("../lib/arguments.js").Given} given
 * @param {string | null} openclawStore
 */
async function checked(given, openclawStore) {
  const { doctor: check } = await import("../../index.js");
  const own = await storePath(given);
  const path = wasMade(own) || openclawStore === null || !wasMade(openclawStore) ? own : openclawStore;
  const isNamed = given.store !== undefined || Boolean(process.env.PALIMPSEST_STORE);
  const look = () =>
    withProgress("checking", (report) => check(path, given.values.deep === true, progressText(report, "checking")));
  return isNamed || wasMade(path) ? look() : null;
}

/** Whether there is a store, or was one, as the number of its last write beside it says; or a link, wherever it leads. @param {string} path */
function wasMade(path) {
  return [path, `${path}-ack`].some((file) => lstatSync(file, { throwIfNoEntry: false }) !== undefined);
}

/** @type {Awaited<ReturnType<typeof lookAtSharing>>} */
const nothingShared = { looks: [], findings: [] };

/**
 * @param {import("../lib/arguments.js").Given} given
 * @param {string | null} openclaw
 */
async function sharingOf(given, openclaw) {
  const addon = await import("../../index.js");
  const pi = await storePath(given);
  return withProgress("asking the shared store", () => lookAtSharing(addon, { pi, openclaw }));
}

/**
 * @param {boolean} healthy
 * @param {import("../../index.js").DoctorReport | null} store
 * @param {Awaited<ReturnType<typeof lookAtSharing>>} sharing
 * @param {import("../lib/installation.js").Installation} installation
 */
async function print(healthy, store, sharing, installation) {
  const none = installation.addon === null ? "not checked without the addon" : "none yet: the first session makes one";
  const about = [store === null ? { store: none } : aboutStore(store), ...sharing.looks.map(aboutSharing)];
  const behind = about.map((values) => `\n${pairs(values)}`).join("");
  await printInstallation({ ...installation, findings: [...installation.findings, ...sharing.findings] }, behind);
  for (const { kind, object, txId, problem, advice } of store?.findings ?? []) {
    const where = [object, txId === undefined ? undefined : `@${txId}`].filter(Boolean).join("");
    await write(`\n${kind}${where === "" ? "" : ` ${where}`}: ${problem}\n  ${advice}\n`);
  }
  await write(
    store?.since === undefined
      ? ""
      : `\nchecked what was written since transaction ${store.since}; --deep checks everything\n`,
  );
  const grown = store?.growth !== undefined && (store.growth.fileBytes > large || store.growth.unusedSessions > many);
  await write(grown ? withTyped(`\n${toKeepLess}\n`) : "");
  const more = store?.moreFindings ?? 0;
  await write(more > 0 ? `\nand ${more} more\n` : "");
  const logs = [installation.log, ...(installation.openclaw === null ? [] : [installation.openclaw.log])];
  const failed = logs.some(({ failures }) => failures > 0);
  const part = store?.since === undefined ? "" : " in that";
  const unused = installation.loadedFrom.length === 0 && installation.openclaw === null ? ", but no host loads it" : "";
  const before = failed ? "; what failed before is in the log" : "";
  await write(healthy ? `\nnothing is wrong${part}${unused}${before}\n` : "");
}

/**
 * @param {import("../lib/installation.js").Installation} installation
 * @param {string} [behind] what stands before its findings
 */
async function printInstallation(installation, behind = "") {
  await write(pairs(aboutInstallation(installation)) + behind);
  for (const { kind, problem, advice } of installation.findings) {
    await write(withTyped(`\n${kind}: ${problem}\n  ${advice}\n`));
  }
}

/** @param {import("../lib/installation.js").Installation} installation */
function aboutInstallation({ version, addon, node, platform, pi, loadedFrom, enabled, log, openclaw }) {
  const sources = loadedFrom.map(({ source }) => source).join(", ");
  const by = { true: "on", false: "off: the setting `enabled` is false", null: "-" };
  return {
    palimpsest: version,
    addon: addon ?? "does not load",
    node: `${node}, ${platform}`,
    pi: pi ?? "not on the path",
    "pi loads it from": sources === "" ? "nowhere: see `pi install`" : sources,
    "by the settings": by[/** @type {"true" | "false" | "null"} */ (String(enabled))],
    log: logText(log),
    ...(openclaw === null ? {} : aboutOpenClaw(openclaw)),
  };
}

/** @param {import("../lib/openclaw.js").OpenClaw} openclaw */
function aboutOpenClaw({ stateDir, version, engine, enabled, store, log }) {
  return {
    openclaw: `${version ?? "not on the path"}, state in ${stateDir}`,
    "its context engine": `${engine ?? "its own"}${enabled ? "" : "; the plugin is off"}`,
    "its store": store ?? "in memory",
    "its log": logText(log),
  };
}

/** @param {{ file: string, failures: number, newest: string | null }} log */
function logText({ file, failures, newest }) {
  return `${file}: ${failures === 0 ? "no failures" : `${plural(failures, "failure")}, the last ${newest}`}`;
}

/** @param {import("../../index.js").Growth} growth */
function aboutGrowth({ fileBytes, recentBytes, sessions, unusedSessions }) {
  const unused = unusedSessions === 0 ? "" : `, ${unusedSessions} of them unused for 180 days`;
  return {
    size: `${spokenBytes(fileBytes)}, about ${spokenBytes(recentBytes)} of it from the last 30 days`,
    sessions: `${sessions}${unused}`,
  };
}

/** @param {import("../../index.js").DoctorReport} report */
function aboutStore({ path, storeId, asOf, growth, checked: counts }) {
  return {
    store: path,
    id: storeId ?? "-",
    ...(growth === undefined ? {} : aboutGrowth(growth)),
    "as of transaction": asOf,
    objects: counts.objects,
    versions: counts.versions,
    contents: counts.contents,
    items: counts.items,
    references: counts.references,
  };
}
