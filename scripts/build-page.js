// Bundles the inspector's page: `npm run build:page`. Writes page.html, page.js and page.css into `inspector/dist`, and fails when the
// script has outgrown its budget. Must not fetch anything.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root } from "./setup.js";

/** The most bytes that page.js may have, as it is and compressed by gzip. */
export const budget = { bytes: 150_000, gzipBytes: 50_000 };

const page = join(root, "inspector", "page");
const into = join(root, "inspector", "dist");

if (import.meta.main) {
  await writePage();
}

async function writePage() {
  const files = await bundled();
  const script = Buffer.from(files["page.js"]);
  const size = { bytes: script.length, gzipBytes: gzipSync(script, { level: 9 }).length };
  if (size.bytes > budget.bytes || size.gzipBytes > budget.gzipBytes) {
    console.error(
      `page.js has \`${size.bytes}\` bytes, \`${size.gzipBytes}\` compressed; at most \`${budget.bytes}\` and \`${budget.gzipBytes}\``,
    );
    process.exitCode = 1;
  }
  mkdirSync(into, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    // Who reads meanwhile gets the file before or the new one, whole.
    const half = join(into, `.${name}.${process.pid}`);
    writeFileSync(half, text);
    renameSync(half, join(into, name));
  }
}

/** The files of the page by their names. */
async function bundled() {
  return {
    "page.html": readFileSync(join(page, "page.html"), "utf8"),
    "page.js": await bundle("main.js"),
    "page.css": await bundle(join("styles", "page.css")),
  };
}

/**
 * A file of the page with all that it imports.
 * @param {string} name
 */
async function bundle(name) {
  const { outputFiles } = await build({
    entryPoints: [join(page, name)],
    bundle: true,
    minify: true,
    format: "esm",
    // The first ones that know `light-dark()`.
    target: ["chrome123", "firefox120", "safari17.5"],
    write: false,
    logLevel: "warning",
  });
  return outputFiles[0].text;
}
