// `npm run texts`: every text that a person can meet, of Pi, OpenClaw, the command line, the page and the addon, one a line with its place, to
// be read in one go. A text is a string of three words or more. Changes nothing.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./setup.js";

const folders = [
  "lib",
  "bin",
  "pi-extension",
  "extensions",
  "openclaw-plugin",
  "inspector/page",
  "inspector/server",
  "src",
  "crates",
];
const isTest = /(^|\/)(tests|benches|testing|examples|dist|node_modules|target)\/|tests\.rs$/;
/** Of Rust: what stands behind the module of a file's tests. */
const testsBelow = /\n#\[cfg\(test\)\]\nmod tests \{[\s\S]*$/;

/** Comments and expressions, so that they are passed over, and strings; templates with one level of templates and expressions inside. */
const script =
  /(?<=[(=,:!?&|] ?)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*|\/\/.*|\/\*[\s\S]*?\*\/|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:(?<=\()\/(?:[^/\\\n]|\\.)+\/|[^{}`]|`[^`]*`|\{[^{}]*\})*\})*)`/g;
/** With characters, and with the reasons for which a lint is not heard. */
const rust =
  /\/\/.*|reason = "(?:[^"\\]|\\[\s\S])*"|b?'(?:[^'\\]|\\.)'|r"[^"]*"|r#"([\s\S]*?)"#|"((?:[^"\\]|\\[\s\S])*)"/g;

for (const folder of folders) {
  for (const name of readdirSync(join(root, folder), { recursive: true }).map(String).sort()) {
    const path = `${folder}/${name}`;
    if (/\.(rs|js|ts|tsx)$/.test(name) && !isTest.test(path) && !name.endsWith(".d.ts")) {
      for (const { line, text } of textsOf(path)) {
        console.log(`${path}:${line}: ${text}`);
      }
    }
  }
}

/** @param {string} path */
function textsOf(path) {
  const source = readFileSync(join(root, path), "utf8");
  const shown = path.endsWith(".rs") ? source.replace(testsBelow, "") : source;
  return [...shown.matchAll(path.endsWith(".rs") ? rust : script)].flatMap((match) => {
    const text = (match[1] ?? match[2] ?? "").replaceAll(/\\?\s*\n\s*/g, " ");
    const isText = text.split(/\s+/).filter((word) => /[A-Za-z]{2}/.test(word)).length >= 3;
    return isText ? [{ line: shown.slice(0, match.index).split("\n").length, text }] : [];
  });
}
