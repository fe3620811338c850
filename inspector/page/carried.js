// The data that the page carries itself: gzip in base64, in a script that is none. Asks nobody.

/**
 * What the page carries; null if it carries nothing.
 * @returns {Promise<import("../protocol.js").Carried | null>}
 */
async function carried() {
  const given = document.getElementById("carried")?.textContent?.trim();
  return given ? JSON.parse(await unpacked(given)) : null;
}

/**
 * The text of gzip in base64.
 * @param {string} base64
 */
export async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/**
 * The report of a replay that the page carries; null if it carries none.
 * @returns {Promise<import("../../index.js").ReplayReport | null>}
 */
export async function carriedReport() {
  const given = await carried();
  return given !== null && "replays" in given ? given.replays : null;
}

/**
 * The source of a page that carries a session; null if it carries none.
 * @returns {Promise<import("../protocol.js").Source | null>}
 */
export async function carriedSource() {
  return null;
}
