// Memory of a session's folder, as the page shows it. Only looks.
import { openMemory } from "../../index.js";
import { shownDiff } from "./shown.js";

/**
 * @import { Store } from "../../index.js"
 * @import { MemoryView } from "../protocol.js"
 */

/**
 * A session may name any folder, and a look at it says nothing of trust: that of the project stands as it does.
 * @param {{ agentDir: string, project: string }} places
 * @param {Store} store
 * @returns {Promise<MemoryView>}
 */
export async function memoryOf(places, store) {
  const memory = openMemory(places, store);
  const [overview, pages, stale, faults, warnings] = await Promise.all([
    memory.overview(),
    memory.pages(),
    memory.stale(),
    memory.faults(),
    memory.check(),
  ]);
  const known = new Map(overview.pages.map((page) => [page.id, page.resident]));
  return {
    pages: pages.map(({ id, scope, file, headings, text }) => {
      const fidelity = known.get(id) ?? null;
      return { id, scope, file, heading: headings.at(-1) ?? null, text, fidelity, resident: fidelity !== null };
    }),
    stale: stale.map((one) => ({
      ...one,
      cited: one.cited.map((file) => ({ ...file, diff: shownDiff(file.diff) })),
    })),
    faults: faults.map(({ fault, inTraces }) => ({ fault, count: inTraces })),
    problems: [
      ...overview.wrongSettings,
      ...warnings.map(({ path, problem }) => (path === "" ? problem : `\`${path}\` ${problem}`)),
    ],
  };
}
