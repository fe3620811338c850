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
    return Array.isArray(value) && Array.isArray(copy) && equalItems(value, copy);
  }
  return equalFields(/** @type {Record<string, unknown>} */ (value), /** @type {Record<string, unknown>} */ (copy));
}

/**
 * @param {unknown[]} value
 * @param {unknown[]} copy
 */
function equalItems(value, copy) {
  if (value.length !== copy.length) {
    return false;
  }
  for (let at = 0; at < copy.length; at++) {
    if (!equalsCopy(value[at], copy[at])) {
      return false;
    }
  }
  return true;
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
    // All else that a plain object inherits are functions, which equal nothing here. Asking for each key is slow.
    if (!equalsCopy(item, copy[key]) || (key === "__proto__" && !Object.hasOwn(copy, key))) {
      return false;
    }
    fields++;
  }
  // Counting them in a loop allocates nothing.
  for (const _ in copy) {
    fields--;
  }
  return fields === 0;
}

/**
 * Puts the strings of `value` in the place of equal ones of `copy`. One string is compared with itself without looking at its text,
 * and takes memory once.
 * @param {unknown} value the host's: any value
 * @param {unknown} copy read from JSON
 */
export function shareStrings(value, copy) {
  if (typeof value !== "object" || typeof copy !== "object" || value === null || copy === null) {
    return;
  }
  const [theirs, ours] = [
    /** @type {Record<string, unknown>} */ (value),
    /** @type {Record<string, unknown>} */ (copy),
  ];
  for (const key in ours) {
    const item = theirs[key];
    if (typeof item !== "string") {
      shareStrings(item, ours[key]);
    } else if (item === ours[key]) {
      ours[key] = item;
    }
  }
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
