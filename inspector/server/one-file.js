// The page as one file that carries its script, its style and its data, and loads nothing from elsewhere. Must not know what the data means.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { pageFiles } from "./page-files.js";

const packed = promisify(gzip);

/** What would end an element early, or be read as something else than what its hash was made of. */
const UNFIT = { script: /<\/script|<!--|\r/i, style: /<\/style|<!--|\r/i };

/**
 * @param {import("../protocol.js").Carried} carried
 * @returns {Promise<string>} HTML
 */
export async function oneFile(carried) {
  return inOne(await pageFiles(), (await packed(JSON.stringify(carried), { level: 9 })).toString("base64"));
}

/**
 * @param {import("./page-files.js").PageFiles} files
 * @param {string} data base64
 */
function inOne({ html, script, style }, data) {
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const meta = `<meta charset="utf-8">`;
  const parts = {
    [meta]: `${meta}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<link rel="stylesheet" href="page.css">': `<style>${checked("style", style)}</style>`,
    '<script type="module" src="page.js"></script>': [
      `<script type="text/plain" id="carried">${data}</script>`,
      `<script type="module">${checked("script", script)}</script>`,
    ].join("\n"),
  };
  return Object.entries(parts).reduce((page, [place, part]) => replaced(page, place, part), html);
}

/** @param {string} text */
function hashOf(text) {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/**
 * @param {"script" | "style"} kind
 * @param {string} text
 */
function checked(kind, text) {
  if (UNFIT[kind].test(text)) {
    throw new Error(`the page's ${kind} cannot stand in one file with the rest`);
  }
  return text;
}

/**
 * @param {string} page
 * @param {string} place
 * @param {string} part
 */
function replaced(page, place, part) {
  if (page.split(place).length !== 2) {
    throw new Error(`the page does not have \`${place}\` once`);
  }
  // A function: in a text, `$&` would stand for something.
  return page.replace(place, () => part);
}
