// Puts the rules of gitleaks behind ours in `crates/redact/src/rules.txt`, of the copy of the Go module that is given:
// `node scripts/make-secret-rules.js DIR`, where DIR is what `go mod download -json github.com/zricethezav/gitleaks/v8@VERSION` names.
// Rules that need a file's path are left out, and those that find nothing that ours do not; of allowlists, those that need a path.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./setup.js";

const strings = /'''[\s\S]*?'''|"""[\s\S]*?"""|"(?:\\.|[^"\\])*"/g;

/** @typedef {Record<string, string | number | string[]> & { allowlists: Record<string, string | number | string[]>[] }} Table */

const [folder] = process.argv.slice(2);
const { rules, everywhere } = read(readFileSync(join(folder, "config", "gitleaks.toml"), "utf8"));
const version = /@(v[\d.]+)\/?$/.exec(folder)?.[1] ?? "unknown";
const licence = readFileSync(join(folder, "LICENSE"), "utf8").trim();
/** What the rules of ours find whole, at the same least entropy. */
const covered = new Set([
  "anthropic-admin-api-key",
  "anthropic-api-key",
  "aws-access-token",
  "gcp-api-key",
  "github-app-token",
  "github-fine-grained-pat",
  "github-oauth",
  "github-pat",
  "github-refresh-token",
  "gitlab-cicd-job-token",
  "gitlab-deploy-token",
  "gitlab-pat",
  "gitlab-pat-routable",
  "gitlab-ptt",
  "gitlab-runner-authentication-token",
  "gitlab-runner-authentication-token-routable",
  "gitlab-scim-token",
  "huggingface-access-token",
  "npm-access-token",
  "pypi-upload-token",
]);
const kept = rules.filter(
  (rule) => rule.regex !== undefined && rule.path === undefined && !covered.has(String(rule.id)),
);
const table = join(root, "crates", "redact", "src", "rules.txt");
const [ours] = readFileSync(table, "utf8").split("# Rules of gitleaks");
const lines = [
  ...`Rules of gitleaks ${version} (https://github.com/gitleaks/gitleaks), without those that ours cover, made by
scripts/make-secret-rules.js; do not edit below. They are under this licence:

${licence}`
    .split("\n")
    .map((line) => `# ${line}`.trim()),
  ...allowlist(everywhere).map((line) => `all\t${line}`),
  ...kept.flatMap((rule) => [
    `rule\t${rule.id}\t${rule.entropy ?? 0}\t${rule.secretGroup ?? 0}\t${list(rule.keywords).join(",").toLowerCase()}`,
    `regex\t${ofRust(String(rule.regex))}`,
    ...rule.allowlists.flatMap(allowlist),
  ]),
];
for (const line of lines) {
  if (line.includes("\n") || line.includes("\r")) {
    throw new Error(`a line end in ${line}`);
  }
}
writeFileSync(table, `${ours}${lines.join("\n")}\n`);
console.log(`${kept.length} of ${rules.length} rules`);

/** @param {Record<string, unknown>} table */
function allowlist({ paths, condition, regexTarget, regexes, stopwords }) {
  if (paths !== undefined && condition === "AND") {
    return [];
  }
  const allowed = list(regexes).map((regex) => `allow\t${regexTarget ?? "secret"}\t${ofRust(regex)}`);
  const words = list(stopwords).join(",");
  return words === "" ? allowed : [...allowed, `words\t${words}`];
}

/** @param {unknown} value @returns {string[]} */
function list(value) {
  return Array.isArray(value) ? value.map(String) : [];
}

/**
 * Go takes a brace that begins no repetition for itself.
 * @param {string} regex
 */
function ofRust(regex) {
  return regex.replace(/\\.|\[(?:\\.|\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]|\{(?!\d+(?:,\d*)?\})/gs, (found) =>
    found === "{" ? "\\{" : found.startsWith("[") ? `[${found.slice(1, -1).replace(/(?<!\\)\[(?!:)/g, "\\[")}]` : found,
  );
}

/** The tables of a file as gitleaks generates it: this is no reader of TOML. @param {string} text */
function read(text) {
  /** @type {Table[]} */
  const rules = [];
  /** @type {Table} */
  const everywhere = { allowlists: [] };
  /** @type {Record<string, unknown>} */
  let table = {};
  const form = /^(?:\[\[?([\w.]+)\]\]?|(\w+) = (\[\n[\s\S]*?^\]|\[.*\]|'''[\s\S]*?'''|"""[\s\S]*?"""|".*"|[\d.]+))$/gm;
  for (const [, name, key, value] of text.matchAll(form)) {
    if (name === "allowlist") {
      table = everywhere;
    } else if (name === "rules") {
      table = { allowlists: [] };
      rules.push(/** @type {Table} */ (table));
    } else if (name === "rules.allowlists") {
      table = {};
      rules[rules.length - 1].allowlists.push(/** @type {Record<string, string>} */ (table));
    } else if (key !== undefined) {
      table[key] = value.startsWith("[")
        ? [...value.matchAll(strings)].map(([found]) => unquoted(found))
        : scalar(value);
    }
  }
  return { rules, everywhere };
}

/** @param {string} value */
function scalar(value) {
  return /^["']/.test(value) ? unquoted(value) : Number(value);
}

/** @param {string} quoted */
function unquoted(quoted) {
  return /^(?:'''|""")/.test(quoted) ? quoted.slice(3, -3) : JSON.parse(quoted);
}
