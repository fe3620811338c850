// What `palimpsest doctor` says about OpenClaw's side: whether it loads the plugin and asks it, which runs it does not ask, and failures.
// Only reads, and only files and the version of OpenClaw. Must not open the store.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openLog } from "../../lib/log.js";
import { inStateFolder, openclawStateDir } from "../../lib/places.js";
import { textIn } from "./obstacles.js";
import { askVersion, isOlder } from "./versions.js";

/**
 * @import { Finding } from "./installation.js"
 *
 * @typedef {object} OpenClaw
 * @property {string} stateDir its state folder
 * @property {string | null} version null where no `openclaw` is on the path
 * @property {string | null} engine what the slot for the context engine names
 * @property {boolean} enabled whether the plugin may run
 * @property {string | null} store its file; null where it is in memory, or the addon does not load
 * @property {{ file: string, failures: number, newest: string | null }} log failures in the newest file, and when the last one was
 *
 * @typedef {{ [key: string]: any }} Json
 */

const id = "palimpsest";
/** The oldest that has what the plugin needs: major and minor. */
const oldest = [2026, 9];
/** The version that the tests run. */
const tested = "2026.9.6";
/** Runtimes that ask a context engine before each call. */
const managed = new Set(["openclaw", "pi", "auto", "default"]);

/**
 * Looks at OpenClaw, where it knows the plugin.
 * @param {Finding[]} findings gets what is wrong
 * @param {(file: string) => { failures: number, newest: string | null }} failuresIn counts the failures in a log
 * @param {typeof import("../../index.js") | undefined} addon
 * @returns {Promise<OpenClaw | null>} null where there is no OpenClaw, or the plugin is not installed in it
 */
export async function lookAtOpenClaw(findings, failuresIn, addon) {
  const stateDir = openclawStateDir();
  const file = process.env.OPENCLAW_CONFIG_PATH?.trim() || join(stateDir, "openclaw.json");
  if (!existsSync(file)) {
    return null;
  }
  const config = read(file);
  if (config === undefined) {
    const problem = `\`${file}\` cannot be read as JSON`;
    findings.push(wrong(problem, "`openclaw plugins inspect palimpsest` says what OpenClaw makes of it"));
    return null;
  }
  const plugins = config.plugins ?? {};
  const engine = plugins.slots?.contextEngine ?? null;
  if (!isKnown(plugins, stateDir)) {
    return null;
  }
  const given = plugins.entries?.[id]?.config ?? {};
  const enabled = isEnabled(plugins) && given.enabled !== false;
  const version = openclawVersion();
  const found = [
    ...(isEnabled(plugins)
      ? []
      : [
          wrong(
            "OpenClaw's configuration turns the plugin off",
            "`openclaw plugins enable palimpsest --accept-capabilities`",
          ),
        ]),
    ...engineFindings(engine),
    ...configFindings(addon, given),
    ...runtimeFindings(config),
    ...versionFindings(version),
  ];
  findings.push(...found);
  const store = await storeOf(addon, plugins.entries?.[id]?.config?.store, stateDir);
  const log = openLog(join(stateDir, id));
  return { stateDir, version, engine, enabled, store, log: { file: log.file, ...failuresIn(log.file) } };
}

/** The plugin's settings that say what is shared, as OpenClaw's configuration has them; none where that cannot be read. */
export function openclawSharing() {
  const stateDir = openclawStateDir();
  const { plugins } = read(process.env.OPENCLAW_CONFIG_PATH?.trim() || join(stateDir, "openclaw.json")) ?? {};
  const { xtdbUrl, xtdbTokenFile, xtdbCaFile, shareSessions } = plugins?.entries?.[id]?.config ?? {};
  const file = (/** @type {unknown} */ path) => (typeof path === "string" ? inStateFolder(path, stateDir) : null);
  return {
    xtdbUrl: typeof xtdbUrl === "string" ? xtdbUrl : null,
    xtdbTokenFile: file(xtdbTokenFile),
    xtdbCaFile: file(xtdbCaFile),
    shareSessions: shareSessions === true,
  };
}

/**
 * Where the plugin's store is.
 * @param {typeof import("../../index.js") | undefined} addon
 * @param {unknown} setting
 * @param {string} stateDir
 */
async function storeOf(addon, setting, stateDir) {
  const store = typeof setting === "string" ? inStateFolder(setting, stateDir) : null;
  const path = (await addon?.storePath({ settings: { store } }).catch(() => undefined)) ?? null;
  return path === ":memory:" ? null : path;
}

/** @param {string} problem @param {string} advice @returns {Finding} */
function wrong(problem, advice) {
  return { kind: "openclaw", problem, advice };
}

/** Whether OpenClaw has the plugin, by its configuration or by what it installed. @param {Json} plugins @param {string} stateDir */
function isKnown(plugins, stateDir) {
  const paths = [plugins.load?.paths ?? []].flat().filter((path) => typeof path === "string");
  const entry = plugins.entries?.[id];
  // What OpenClaw leaves of a plugin that was uninstalled.
  const isLeft = entry !== undefined && JSON.stringify(entry) === '{"enabled":false}';
  return (
    (entry !== undefined && !isLeft) ||
    plugins.slots?.contextEngine === id ||
    installedIn(join(stateDir, "npm", "projects")) ||
    paths.some((path) => read(join(path, "openclaw.plugin.json"))?.id === id)
  );
}

/** Whether OpenClaw installed the package here: in a folder of its name, after an update with more behind it. @param {string} projects */
function installedIn(projects) {
  const names = existsSync(projects) ? readdirSync(projects) : [];
  return names.some((name) => name === id || name.startsWith(`${id}__`));
}

/** @param {Json} plugins */
function isEnabled({ enabled, allow, deny, entries }) {
  const isAllowed = !Array.isArray(allow) || allow.length === 0 || allow.includes(id);
  return enabled !== false && isAllowed && !(deny ?? []).includes(id) && entries?.[id]?.enabled !== false;
}

/** @param {string | null} engine */
function engineFindings(engine) {
  if (engine === id) {
    return [];
  }
  const now =
    engine === null ? "OpenClaw's own context engine is used" : `OpenClaw uses the context engine \`${engine}\``;
  return [wrong(`${now}, so Palimpsest is not asked`, "`openclaw config set plugins.slots.contextEngine palimpsest`")];
}

/** @param {typeof import("../../index.js") | undefined} addon @param {unknown} given */
function configFindings(addon, given) {
  const { problems = [] } = addon?.checkSettings(given) ?? {};
  return problems.map((problem) =>
    wrong(
      `in \`plugins.entries.palimpsest.config\` ${problem}; the plugin goes on without it`,
      "docs/settings.md lists all settings",
    ),
  );
}

/** Models that another runtime runs, which does not ask us before each call. @param {Json} config */
function runtimeFindings(config) {
  const agents = [
    config.agents?.defaults ?? {},
    ...Object.values(config.agents?.entries ?? {}),
    ...[config.agents?.list ?? []].flat(),
  ];
  const places = [
    ...Object.entries(config.models?.providers ?? {}),
    ...agents.flatMap((agent) => Object.entries(agent?.models ?? {})),
  ];
  const others = places.flatMap(([name, entry]) => {
    const runtime = entry?.agentRuntime?.id;
    return typeof runtime === "string" && !managed.has(runtime) ? [[name, runtime]] : [];
  });
  return others.map(([name, runtime]) =>
    runtime === "codex"
      ? wrong(
          `\`${name}\` runs in Codex, which asks once per turn and keeps its own list`,
          "nothing leaves within a turn there",
        )
      : wrong(
          `\`${name}\` runs in \`${runtime}\`, which cannot ask a context engine: its runs fail or go on without us`,
          "remove `agentRuntime`, or leave the context engine to OpenClaw",
        ),
  );
}

/** @param {string | null} version */
function versionFindings(version) {
  return version !== null && isOlder(version, oldest)
    ? [wrong(`OpenClaw ${version} is older than ${oldest.join(".")}.0; ${tested} is tested`, "update OpenClaw")]
    : [];
}

/** The version that the `openclaw` on the path prints. */
function openclawVersion() {
  const { status, stdout } = askVersion("openclaw");
  return status === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null;
}

/** @param {string} file @returns {Json | undefined} */
function read(file) {
  try {
    return JSON.parse(asJson(textIn(file)));
  } catch {
    return undefined;
  }
}

/** JSON5, as OpenClaw reads its configuration, as JSON: without comments and last commas, keys and strings in double quotes. @param {string} text */
function asJson(text) {
  const parts = /"(?:\\.|[^"\\])*"|'((?:\\.|[^'\\])*)'|\/\/[^\n]*|\/\*[\s\S]*?\*\/|([A-Za-z_$][\w$]*)(?=\s*:)/g;
  const quoted = text.replaceAll(parts, (part, single, key) => {
    if (single !== undefined) {
      return `"${single.replaceAll("\\'", "'").replaceAll('"', '\\"')}"`;
    }
    return key === undefined ? (part.startsWith("/") ? "" : part) : `"${key}"`;
  });
  return quoted.replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_, string = "") => string);
}
