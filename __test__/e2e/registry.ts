// A registry on loopback that is gone when the test has finished.
import { onTestFinished } from "vitest";
import { serveRegistry } from "../../scripts/lib/registry.js";

/** Serves the tarballs of a folder. */
export async function startRegistry(folder: string) {
  const registry = await serveRegistry({ folder });
  onTestFinished(registry.close);
  return registry;
}
