// An error in words, for people and logs.

/** The error's code, message and hint, in one line. @param {unknown} error */
export function describe(error) {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const { code, hint } = /** @type {{ code?: unknown, hint?: unknown }} */ (error);
  const coded = typeof code === "string" ? `${error.message} (${code})` : error.message;
  const full = typeof hint === "string" ? `${coded}; hint: ${hint}` : coded;
  return full.replaceAll(/\s*\n\s*/g, " ");
}

/**
 * What a person is told of an error, with the log that has more of it. Without the addon nothing is logged: it takes secrets out.
 * @param {unknown} error
 * @param {import("./log.js").Log} log
 */
export function told(error, log) {
  const { code } = /** @type {{ code?: unknown }} */ (error ?? {});
  return log.writes("error") && code !== "NO_ADDON" ? `${describe(error)}. Details: ${log.file}` : describe(error);
}

/** An error with the stack, and all that caused it. @param {unknown} error @returns {string} */
export function withCauses(error) {
  const own = error instanceof Error ? `${describe(error)}\n${error.stack ?? ""}` : describe(error);
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? own : `${own}\ncaused by ${withCauses(cause)}`;
}

/** Whether something of ours does not work, so that nobody who asks can help it by asking in another way. @param {unknown} error */
export function isFailure(error) {
  return (
    !(error instanceof Error) || !("code" in error) || /** @type {{ failure?: unknown }} */ (error).failure === true
  );
}

/** Whether the store of a session is lost to it: what it holds cannot be read or trusted any more, or its file is gone. @param {unknown} error */
export function isLost(error) {
  const { code } = /** @type {{ code?: unknown }} */ (error ?? {});
  return code === "STORE_GONE" || code === "STORE_CORRUPT" || code === "HASH_MISMATCH";
}

/** What the model is told where a tool of ours does not work. @param {string} tool */
export function unavailable(tool) {
  return `\`${tool}\` does not work right now, and the user has been told. Go on without it: to see an output or a file again, run the command or read the file again`;
}
