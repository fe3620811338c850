// What `palimpsest doctor` says about the machine and Pi's side: versions, addon, settings, where Pi loads the package from, log. Only
// reads. Must not open the store.
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { levelVariable, openLog } from "../../lib/log.js";
import { piAgentDir } from "../../lib/places.js";
import { name as spelt } from "../../lib/terminal.js";
import { version } from "./help.js";
import { nameFindings, textIn } from "./obstacles.js";
import { lookAtOpenClaw } from "./openclaw.js";
import { askVersion, isOlder } from "./versions.js";

/**
 * @typedef {object} Finding
 * @property {"addon" | "node" | "pi" | "disk" | "openclaw" | "settings" | "log" | "sharing"} kind
 * @property {string} problem
 * @property {string} advice
 *
 * @typedef {object} Installation
 * @property {string} version of the package
 * @property {string | null} addon `native`; null where it does not load
 * @property {string} node
 * @property {string} platform such as `linux x64`
 * @property {string | null} pi its version; null where no `pi` is on the path
 * @property {{ source: string, version: string | null }[]} loadedFrom the packages of ours in Pi's settings
 * @property {boolean | null} enabled by the settings; null where they are wrong
 * @property {{ file: string, failures: number, newest: string | null }} log failures in the newest file, and when the last one was
 * @property {import("./openclaw.js").OpenClaw | null} openclaw null where the plugin is not installed in an OpenClaw
 * @property {Finding[]} findings
 */

/** The oldest Pi that has the events which the extension needs. */
const oldestPi = [0, 87];
const oldestNode = [22, 19];

/**
 * Looks at the installation.
 * @returns {Promise<Installation>}
 */
export async function lookAtInstallation() {
  const agentDir = piAgentDir();
  /** @type {Finding[]} */
  const findings = [];
  const node = process.versions.node;
  if (isOlder(node, oldestNode)) {
    const problem = `Node ${node} is older than ${oldestNode.join(".")}`;
    findings.push({ kind: "node", problem, advice: "use a newer Node" });
  }
  const addon = await import("../../index.js").catch((error) => {
    findings.push({ kind: "addon", problem: error.message, advice: error.hint ?? "install palimpsest again" });
  });
  const loadedFrom = packagesOfOurs(agentDir, findings);
  const pi = piVersion(findings);
  findings.push(...piFindings(pi, loadedFrom), ...nameFindings(agentDir));
  const enabled = addon === undefined ? null : await enabledBySettings(addon, agentDir, findings);
  await addon?.trustedProjects(agentDir).catch((/** @type {Error & { hint?: string }} */ { message, hint }) => {
    const advice = hint ?? "mend the file, or move it away: then you are asked again";
    findings.push({ kind: "settings", problem: message, advice });
  });
  const log = openLog(join(agentDir, "palimpsest"));
  if (log.wrongLevel !== undefined) {
    findings.push({ kind: "log", problem: log.wrongLevel, advice: `set or unset \`${levelVariable}\`` });
  }
  return {
    version: version(),
    addon: addon?.__napiBindingTarget ?? null,
    node,
    platform: `${process.platform} ${process.arch}`,
    pi,
    loadedFrom,
    enabled,
    log: { file: log.file, ...failuresIn(log.file) },
    openclaw: await lookAtOpenClaw(findings, failuresIn, addon ?? undefined),
    findings,
  };
}

/** The version that the `pi` on the path prints; null where there is none. @param {Finding[]} findings */
function piVersion(findings) {
  const { status, stdout, error } = askVersion("pi");
  const version = status === 0 ? (/\d+\.\d+\.\d+\S*/.exec(stdout)?.[0] ?? null) : null;
  const isThere = /** @type {NodeJS.ErrnoException | undefined} */ (error)?.code !== "ENOENT";
  if (version === null && isThere && process.platform !== "win32") {
    findings.push({
      kind: "pi",
      problem: "`pi --version` says no version",
      advice: "run it yourself, or install Pi again",
    });
  }
  return version;
}

/**
 * @param {string | null} pi
 * @param {Installation["loadedFrom"]} loadedFrom
 * @returns {Finding[]}
 */
function piFindings(pi, loadedFrom) {
  /** @type {Finding[]} */
  const findings = [];
  if (pi !== null && isOlder(pi, oldestPi)) {
    const problem = `Pi ${pi} is older than ${oldestPi.join(".")}`;
    findings.push({ kind: "pi", problem, advice: "update Pi" });
  }
  if (loadedFrom.length > 1) {
    const sources = loadedFrom.map(({ source }) => `\`${source}\``).join(", ");
    const problem = `Pi's settings name the package more than once: ${sources}`;
    findings.push({ kind: "pi", problem, advice: "keep one of them: `pi remove SOURCE`" });
  }
  for (const { source, version: theirs } of loadedFrom) {
    if (theirs !== null && theirs !== version()) {
      const problem = `Pi loads version ${theirs} from \`${source}\`, this command is ${version()}`;
      findings.push({ kind: "pi", problem, advice: "update the older one, so that both know the same store" });
    }
  }
  return findings;
}

/**
 * The packages of ours that Pi's settings name, the user's and those of the project here.
 * @param {string} agentDir
 * @param {Finding[]} findings
 */
function packagesOfOurs(agentDir, findings) {
  const places = [
    { folder: agentDir, npm: join(agentDir, "npm"), git: join(agentDir, "git") },
    { folder: resolve(".pi"), npm: resolve(".pi", "npm"), git: resolve(".pi", "git") },
  ];
  return places.flatMap(({ folder, npm, git }) =>
    sourcesIn(join(folder, "settings.json"), findings).flatMap((source) => {
      const named = /^(?:npm|git):/.exec(source);
      const installed = named?.[0] === "npm:" ? join(npm, "node_modules", "palimpsest") : join(git, source.slice(4));
      const manifest = manifestIn(named === null ? resolve(folder, source) : installed);
      const isOurs = manifest?.name === "palimpsest" || /^npm:palimpsest(?:@|$)/.test(source);
      return isOurs ? [{ source: spelt(source), version: manifest?.version ?? null }] : [];
    }),
  );
}

/** @param {string} file settings of Pi @param {Finding[]} findings @returns {string[]} */
function sourcesIn(file, findings) {
  const settings = readJson(file);
  if (settings === undefined && existsSync(file)) {
    const problem = `Pi's settings \`${file}\` cannot be read as JSON`;
    findings.push({ kind: "pi", problem, advice: "mend the file: Pi loads no package from it" });
  }
  const { packages } = /** @type {{ packages?: unknown }} */ (settings ?? {});
  const entries = Array.isArray(packages) ? packages : [];
  const sources = entries.map((entry) => (typeof entry === "string" ? entry : entry?.source));
  return sources.filter((source) => typeof source === "string");
}

/** @param {string} folder @returns {{ name?: string, version?: string } | undefined} */
function manifestIn(folder) {
  return /** @type {any} */ (readJson(join(folder, "package.json")));
}

/** @param {string} file @returns {unknown} undefined where there is none that can be read */
function readJson(file) {
  try {
    return JSON.parse(textIn(file));
  } catch {
    return undefined;
  }
}

/**
 * @param {typeof import("../../index.js")} addon
 * @param {string} agentDir
 * @param {Finding[]} findings
 */
async function enabledBySettings({ loadSettings, settingProblems }, agentDir, findings) {
  const places = { agentDir, projectDir: process.cwd() };
  try {
    for (const problem of await settingProblems(places)) {
      const advice = "what is wrong is ignored; docs/settings.md lists all settings";
      findings.push({ kind: "settings", problem, advice });
    }
    const settings = await loadSettings({ ...places, needed: [] });
    for (const key of /** @type {const} */ (["hazards", "xtdbTokenFile", "xtdbCaFile"])) {
      const file = settings[key];
      if (typeof file === "string" && !existsSync(file)) {
        const problem = `the setting \`${key}\` names \`${file}\`, which is not there`;
        findings.push({ kind: "settings", problem, advice: "mend the path, or leave the setting out" });
      }
    }
    return settings.enabled ?? true;
  } catch (error) {
    const { message, hint } = /** @type {Error & { hint?: string }} */ (error);
    findings.push({ kind: "settings", problem: message, advice: hint ?? "docs/settings.md lists all settings" });
    return null;
  }
}

/** @param {string} file */
function failuresIn(file) {
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const failures = lines.filter((line) => /^\d{4}-\S+Z error /.test(line));
  return { failures: failures.length, newest: failures.at(-1)?.split(" ", 1)[0] ?? null };
}
