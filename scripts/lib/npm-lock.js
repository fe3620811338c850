// Whether npm's packages in a folder are those of its lock file. Must not import anything from node_modules, and must start under
// Node 20: set-up uses it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Compares npm's own record of what it installed in a folder with the lock file there.
 * @param {string} folder
 */
export function packagesMatchLock(folder) {
  const record = join(folder, "node_modules", ".package-lock.json");
  if (!existsSync(record)) {
    return false;
  }
  const installed = JSON.parse(readFileSync(record, "utf8")).packages;
  const locked = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")).packages;
  // Optional packages, such as those of other platforms, are locked and rightly absent.
  return Object.entries(locked).every(
    ([path, entry]) =>
      path === "" ||
      (installed[path] === undefined ? entry.optional === true : installed[path].version === entry.version),
  );
}
