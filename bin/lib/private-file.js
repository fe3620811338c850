// Files that only their user may read.
import { open, rename, rm, stat, writeFile } from "node:fs/promises";

/**
 * Writes a file that only its user may read. What is there is replaced, a link too, and what a link leads to stays as it is. A pipe or
 * a device, such as `/dev/stdout`, is written to.
 * @param {string} path
 * @param {string} text
 */
export async function writePrivate(path, text) {
  const there = await stat(path).catch(() => undefined);
  if (there !== undefined && !there.isFile()) {
    return writeFile(path, text);
  }
  const whole = `${path}.${process.pid}.new`;
  const file = await open(whole, "wx", 0o600);
  try {
    await file.writeFile(text).finally(() => file.close());
    await rename(whole, path);
  } catch (error) {
    await rm(whole, { force: true });
    throw error;
  }
}
