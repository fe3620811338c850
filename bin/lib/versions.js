// Compares versions of the programs that `palimpsest doctor` looks at.

/**
 * Whether a version is older than a major and minor one.
 * @param {string} found
 * @param {number[]} least
 */
export function isOlder(found, least) {
  const [major, minor] = found.split(".").map(Number);
  return major < least[0] || (major === least[0] && minor < least[1]);
}
