// The page's files as the build wrote them (`npm run build:page`). Must not change them.
import { readFile } from "node:fs/promises";

/** @typedef {{ html: string, script: string, style: string }} PageFiles */

/** @returns {Promise<PageFiles>} */
export async function pageFiles() {
  const read = (/** @type {string} */ name) => readFile(new URL(`../dist/${name}`, import.meta.url), "utf8");
  try {
    const [html, script, style] = await Promise.all(["page.html", "page.js", "page.css"].map(read));
    return { html, script, style };
  } catch (error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error).code;
    if (code !== "ENOENT") {
      throw error;
    }
    const missing = new Error("the inspector's page is not built");
    throw Object.assign(missing, { code: "NOT_BUILT", hint: "in a clone of the repository run `npm run build:page`" });
  }
}
