// The development server of XTDB in `xtdb/`: what it needs, and starting it. `tests/common/xtdb.rs` does the same for cargo tests.
// Must not import anything from node_modules.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { isOnPath, root } from "../setup.js";

const folder = join(root, "xtdb");
const target = join(folder, "target");
const classpathFile = join(target, "classpath.txt");

/** The configurations that the folder has, by name. */
export const configurations = ["standalone", "memory", "postgres"];

/**
 * Makes what the server needs, unless it is there already: then neither Maven nor the network is needed.
 * @returns {string | undefined} one line that says what is missing
 */
export function prepareXtdb() {
  const { stderr, status } = spawnSync("java", ["-version"], { encoding: "utf8" });
  const version = Number(/version "(\d+)/.exec(stderr ?? "")?.[1]);
  if (status !== 0 || !(version >= 17)) {
    const found = version > 0 ? `java is ${version}, not 17 or later` : "missing: java 17 or later";
    return `${found} (a JDK: apt-get install openjdk-17-jdk-headless, or https://adoptium.net)`;
  }
  return isResolved() ? undefined : resolveJars();
}

/** Whether the class path is that of the project file, and its jars are there. */
function isResolved() {
  if (!existsSync(classpathFile) || statSync(classpathFile).mtimeMs < statSync(join(folder, "pom.xml")).mtimeMs) {
    return false;
  }
  return readFileSync(classpathFile, "utf8").split(delimiter).every(existsSync);
}

/** @returns {string | undefined} */
function resolveJars() {
  if (!isOnPath("mvn")) {
    return "missing: mvn (Maven fetches XTDB once: apt-get install maven, or https://maven.apache.org)";
  }
  console.error("setting up: XTDB (90 MB from Maven Central, once)");
  const repository = join(target, "repository");
  const args = ["-B", "-q", "-f", folder, `-Dmaven.repo.local=${repository}`, "generate-resources"];
  const maven = spawnSync("mvn", args, { stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
  return maven.status === 0 ? undefined : "Maven failed; its output above says why";
}

/**
 * @typedef {object} XtdbOptions
 * @property {string} config one of `configurations`, or a file
 * @property {string} dataDir where the node keeps its data; made if need be
 * @property {number} [port] default: that of the configuration; 0 is any free one
 * @property {string} [tokenFile] requests must bring the token that is in there
 * @property {boolean} [readOnly]
 */

/**
 * Starts the server, on loopback. It ends with its standard input, so never later than this process.
 * @param {XtdbOptions} options
 */
export function startXtdb({ config, dataDir, port, tokenFile, readOnly }) {
  const configFile = configurations.includes(config) ? join(folder, `${config}.edn`) : resolve(config);
  const temporary = join(dataDir, "tmp");
  mkdirSync(temporary, { recursive: true });
  const args = [
    `@${join(folder, "jvm.options")}`,
    `-Dlogback.configurationFile=${join(folder, "logback.xml")}`,
    // The native library of RocksDB is unpacked there, under a fixed name.
    `-Djava.io.tmpdir=${temporary}`,
    "-cp",
    [join(folder, "src"), join(target, "classes"), readFileSync(classpathFile, "utf8").trim()].join(delimiter),
    ...["clojure.main", "-m", "palimpsest.xtdb.server", "--config", configFile, "--until-stdin-closes"],
    ...(port === undefined ? [] : ["--port", String(port)]),
    ...(tokenFile === undefined ? [] : ["--token-file", resolve(tokenFile)]),
    ...(readOnly ? ["--read-only"] : []),
  ];
  const child = spawn("java", args, { cwd: dataDir, stdio: ["pipe", "pipe", "inherit"] });
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  /** @type {Promise<string>} */
  const url = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(line.replace("XTDB answers at ", "")));
    ended.then((code) => reject(new Error(`XTDB ended with code ${code} before it answered`)), reject);
  });
  url.catch(() => {});
  return { child, url, ended };
}
