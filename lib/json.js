// Values that came out of JSON: comparing the host's values with them, and copying them.

/**
 * Whether `value` would give the same JSON as the value that `copy` was read from.
 * @param {unknown} value the host's: any value
 * @param {unknown} copy read from JSON
 * @returns {boolean}
 */
export function equalsCopy(value, copy) {
  if (value === copy) {
    return true;
  }
  if (typeof value === "string") {
    return typeof copy === "string" && value.toWellFormed() === copy;
  }
  if (typeof value !== "object" || typeof copy !== "object" || value === null || copy === null) {
    return false;
  }
  if (Array.isArray(value) || Array.isArray(copy)) {
    const areArrays = Array.isArray(value) && Array.isArray(copy);
    return areArrays && value.length === copy.length && value.every((item, at) => equalsCopy(item, copy[at]));
  }
  return equalFields(/** @type {Record<string, unknown>} */ (value), /** @type {Record<string, unknown>} */ (copy));
}

/**
 * @param {Record<string, unknown>} value
 * @param {Record<string, unknown>} copy
 */
function equalFields(value, copy) {
  let fields = 0;
  for (const key in value) {
    const item = value[key];
    // JSON leaves these out.
    if (item === undefined || typeof item === "function") {
      continue;
    }
    if (!Object.hasOwn(copy, key) || !equalsCopy(item, copy[key])) {
      return false;
    }
    fields++;
  }
  return fields === Object.keys(copy).length;
}

/**
 * A deep copy of a value that was read from JSON.
 * @template T
 * @param {T} value
 * @returns {T}
 */
export function copyOf(value) {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return /** @type {T} */ (value.map(copyOf));
  }
  const copy = /** @type {Record<string, unknown>} */ ({ ...value });
  for (const key of Object.keys(copy)) {
    copy[key] = copyOf(copy[key]);
  }
  return /** @type {T} */ (copy);
}
