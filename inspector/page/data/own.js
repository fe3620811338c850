// The data that the page carries itself: gzip in base64, in a script that is none. Asks nobody.
import { sourceOf } from "./carried.js";

/**
 * What the page carries; null if it carries nothing.
 * @returns {Promise<import("../../protocol.js").Carried | null>}
 */
async function carried() {
  const data = document.getElementById("carried")?.textContent?.trim();
  return data ? JSON.parse(await unpacked(data)) : null;
}

/**
 * The text of gzip in base64.
 * @param {string} base64
 */
async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/**
 * The report of a replay that the page carries; null if it carries none.
 * @returns {Promise<import("../../../index.js").ReplayReport | null>}
 */
export async function carriedReport() {
  const data = await carried();
  return data !== null && "replays" in data ? data.replays : null;
}

/**
 * The source of a page that carries a session; null if it carries none.
 * @returns {Promise<import("../../protocol.js").Source | null>}
 */
export async function carriedSource() {
  const data = await carried();
  return data !== null && "session" in data ? sourceOf(data) : null;
}
