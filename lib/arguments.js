// Reads what the host gives, which may be anything: what cannot be read is refused with an error that names the argument.

/** Most messages of a list, far more than a conversation has: a longer one costs minutes and gigabytes before it fails. */
const maxMessages = 100_000;

/**
 * An error for an argument that is refused.
 * @param {string} message
 * @param {ErrorOptions} [options]
 */
export function invalidArgument(message, options) {
  return Object.assign(new TypeError(message, options), { code: "INVALID_ARGUMENT" });
}

/**
 * Calls `read`; what it throws (a getter, a revoked proxy, a value that no JSON can hold) makes the argument invalid.
 * @template T
 * @param {string} argument its name
 * @param {() => T} read
 */
export function reading(argument, read) {
  try {
    return read();
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : `threw a value of type ${typeof cause}`;
    throw invalidArgument(`\`${argument}\` cannot be read: ${problem}`, { cause });
  }
}

/**
 * A value as JSON. Lone surrogates, which UTF-8 cannot hold, become replacement characters.
 * @param {unknown} value
 * @returns {string | undefined} undefined for what JSON leaves out: undefined, functions, symbols
 */
export function toJson(value) {
  const json = JSON.stringify(value);
  // Lone surrogates come out as escapes. Only where there may be some, every string is looked at.
  return json?.includes("\\ud")
    ? JSON.stringify(value, (_key, item) => (typeof item === "string" ? item.toWellFormed() : item))
    : json;
}

/**
 * A copy of an argument as it is now: the host may change its own while a method waits for its turn.
 * @param {string} argument its name
 * @param {unknown} value
 */
export function snapshot(argument, value) {
  const json = reading(argument, () => toJson(value));
  return json === undefined ? value : JSON.parse(json);
}

/**
 * The host's list as it is now, its messages still the host's own.
 * @param {unknown} messages
 * @returns {unknown[]}
 */
export function listSnapshot(messages) {
  if (!reading("messages", () => Array.isArray(messages))) {
    throw invalidArgument("`messages` is not an array");
  }
  const list = /** @type {unknown[]} */ (messages);
  const count = reading("messages", () => list.length);
  if (count > maxMessages) {
    throw invalidArgument(`\`messages\` is a list of ${count}, at most ${maxMessages} are taken`);
  }
  return reading("messages", () => list.slice());
}
