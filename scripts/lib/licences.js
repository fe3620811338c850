// Whose work is linked into the native addon: the crates that it depends on for any platform, what they bundle, and the tokenizer's
// vocabulary. Build tools and procedural macros leave nothing in it. Refuses a licence that nobody has looked at.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readMetadata } from "./cargo-metadata.js";

/**
 * @typedef {import("./cargo-metadata.js").Metadata} Metadata
 * @typedef {import("./cargo-metadata.js").Package} Package
 */

/** Licences, by their SPDX names, whose terms a binary meets by carrying their texts. */
const allowed = new Set([
  "0BSD",
  "Apache-2.0",
  "Apache-2.0 WITH LLVM-exception",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BSL-1.0",
  "CC0-1.0",
  "CDLA-Permissive-2.0",
  "ISC",
  "MIT",
  "Unicode-3.0",
  "Unlicense",
  "Zlib",
]);

/** Files with terms or notices. */
const named = /^(licen[cs]e|copying|copyright|notice|unlicense)/i;

/** What crates bundle beside their own work: the crate, the file in it. */
const bundled = [["zstd-sys", "zstd/LICENSE"]];

/** What has no file of its own to copy. */
const besides = `- **SQLite** is in the public domain ("The author disclaims copyright to this source code").
- The vocabulary \`o200k_base\` of **tiktoken**, Copyright (c) 2022 OpenAI, Shantanu Jain, under the MIT licence.
- Rules of **gitleaks**: see [NOTICE.md](NOTICE.md).`;

/**
 * The text of THIRD-PARTY.md. Throws where a crate has a licence that is not allowed, or no text of one.
 * @param {string} root of the repository; its crates must have been fetched
 */
export function thirdParties(root) {
  const crates = linked(readMetadata(root));
  const wrong = crates.filter(({ license }) => !isAllowed(license ?? "none"));
  if (wrong.length > 0) {
    const names = wrong.map(({ name, license }) => `${name} (${license})`).join(", ");
    throw new Error(`licences that nobody has looked at: ${names}`);
  }
  /** @type {Map<string, Set<string>>} */
  const texts = new Map();
  const silent = [];
  for (const crate of crates) {
    const found = textsOf(crate);
    for (const text of found) {
      texts.set(text, (texts.get(text) ?? new Set()).add(`${crate.name} ${crate.version}`));
    }
    if (found.length === 0) {
      silent.push(`${crate.name} ${crate.version} (${crate.license})`);
    }
  }
  const sorted = [...texts].sort(([, a], [, b]) => b.size - a.size || ([...a][0] < [...b][0] ? -1 : 1));
  const rows = crates.map(({ name, version, license }) => `| ${name} | ${version} | ${license} |`);
  return `# Third parties

The native addon holds work of others. \`node scripts/licences.js\` writes this file from \`Cargo.lock\`.

${besides}

| crate | version | licence |
| --- | --- | --- |
${rows.join("\n")}

These come without a text of their own; the terms of the MIT licence stand below: ${silent.join(", ")}.

${sorted.map(([text, names]) => `## ${[...names].join(", ")}\n\n\`\`\`\`\n${text}\n\`\`\`\`\n`).join("\n")}`;
}

/** The crates of others that are linked, by name. @param {Metadata} metadata */
function linked({ packages, resolve }) {
  const byId = new Map(packages.map((found) => [found.id, found]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  /** @type {Set<string>} */
  const seen = new Set();
  const open = [resolve.root];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const isMacro = byId.get(id)?.targets.some(({ kind }) => kind.includes("proc-macro")) === true;
    if (seen.has(id) || isMacro) {
      continue;
    }
    seen.add(id);
    for (const { pkg, dep_kinds: kinds } of nodes.get(id)?.deps ?? []) {
      if (kinds.some(({ kind }) => kind === null)) {
        open.push(pkg);
      }
    }
  }
  const found = [...seen].flatMap((id) => byId.get(id) ?? []).filter(({ source }) => source !== null);
  const key = (/** @type {Package} */ { name, version }) => `${name} ${version}`;
  return found.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Whether an SPDX expression can be met. In those of crates, parentheses stand around choices. @param {string} expression */
export function isAllowed(expression) {
  const parts = expression.includes("(") ? expression.split(" AND ") : [expression];
  return parts.every((part) => {
    const choices = part.replaceAll(/[()]/g, "").split(/ OR | ?\/ ?/);
    return choices.some((choice) => choice.split(" AND ").every((licence) => allowed.has(licence.trim())));
  });
}

/** The terms that come with a crate: where one may choose, and MIT is among them, those. @param {Package} crate */
function textsOf({ name, manifest_path: manifest }) {
  const folder = dirname(manifest);
  const all = readdirSync(folder)
    .filter((file) => named.test(file))
    .sort();
  const chosen = all.filter((file) => /mit|copyright|notice/i.test(file));
  const own = chosen.some((file) => /mit/i.test(file)) ? chosen : all;
  const others = bundled.filter(([crate, file]) => crate === name && existsSync(join(folder, file)));
  const files = [...own, ...others.map(([, file]) => file)].map((file) => join(folder, file));
  return files.flatMap((file) => read(file));
}

/** A text without what differs from file to file but means nothing; none where it is a folder. @param {string} file */
function read(file) {
  try {
    const lines = readFileSync(file, "utf8").replaceAll("\r\n", "\n").split("\n");
    return [
      lines
        .map((line) => line.trimEnd())
        .join("\n")
        .trim(),
    ];
  } catch {
    return [];
  }
}
