// The JavaScript half of a session: keeps its calls in order, and of `transformContext` finds what is new in the host's
// list of messages, so that only that crosses to Rust, and builds the list that goes out. It keeps a copy of the list at the
// last call and what each message of the request is made of; it decides nothing. Of a provider's request it makes the
// changes that Rust names. The value of this script is a function that keeps it under `name` beside a session.
(session, name) => {
  /** The host's messages at the last call, as they crossed. */
  const known = [];
  /** What each message of the request is made of: `{host, content?}` or `{message}`. */
  const slots = [];
  /** System prompt and tools as they crossed last. */
  let prompt = "";
  /** Whether the three above hold nothing that Rust could lead on from. */
  let fresh = true;
  let queue = Promise.resolve();
  const listeners = new Set();

  /** Whether a value is what `copy` was made of by JSON. */
  const equal = (value, copy) => {
    if (value === copy) {
      return true;
    }
    if (typeof value === "string") {
      return typeof copy === "string" && value.toWellFormed() === copy;
    }
    if (typeof value !== "object" || typeof copy !== "object" || value === null || copy === null) {
      return false;
    }
    if (Array.isArray(value)) {
      return Array.isArray(copy) && value.length === copy.length && value.every((item, i) => equal(item, copy[i]));
    }
    let keys = 0;
    for (const key in value) {
      const item = value[key];
      if (item === undefined || typeof item === "function") {
        continue;
      }
      if (!Object.hasOwn(copy, key) || !equal(item, copy[key])) {
        return false;
      }
      keys++;
    }
    return keys === Object.keys(copy).length;
  };

  /** JSON of a value; lone surrogates, which no UTF-8 text can hold, become replacement characters. */
  const toJson = (value) =>
    JSON.stringify(value, (_key, item) =>
      typeof item === "string" && !item.isWellFormed() ? item.toWellFormed() : item,
    );

  const refuse = (message, options) => Object.assign(new TypeError(message, options), { code: "INVALID_ARGUMENT" });

  /** Reads what the host gave; what its getters throw, and what no JSON can hold, is a wrong argument. */
  const reading = (argument, read) => {
    try {
      return read();
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : `threw a value of type ${typeof cause}`;
      throw refuse(`\`${argument}\` cannot be read: ${problem}`, { cause });
    }
  };

  const forget = () => {
    known.length = 0;
    slots.length = 0;
    prompt = "";
    fresh = true;
  };

  /** A copy of a value that JSON gave: what goes out belongs to the host, which may change it. */
  const copyOf = (value) => {
    if (typeof value !== "object" || value === null) {
      return value;
    }
    if (Array.isArray(value)) {
      return value.map(copyOf);
    }
    const copy = { ...value };
    for (const key of Object.keys(copy)) {
      copy[key] = copyOf(copy[key]);
    }
    return copy;
  };

  /** The host's own message where nothing changes; else a copy with another content. */
  const build = (slot, messages) => {
    if (slot.message !== undefined) {
      return copyOf(slot.message);
    }
    const message = messages[slot.host];
    return slot.content === undefined ? message : { ...message, content: copyOf(slot.content) };
  };

  /** Calls the listeners; the fault of one, also of an async one, is its own. */
  const tell = (event) => {
    for (const listener of listeners) {
      new Promise((resolve) => resolve(listener({ ...event }))).catch(() => {});
    }
  };

  /** What Rust is told of a call: system prompt and tools only where they changed. */
  const infoOf = (call) => {
    const { systemPrompt, tools, model } = call ?? {};
    const { provider, id, contextWindow, api, cost, promptCache, cacheRetention, cacheControlFormat } = model ?? {};
    const modelData = api === undefined ? undefined : { api, cost, promptCache, cacheRetention, cacheControlFormat };
    const info = { model: model && `${provider}/${id}`, contextWindow, modelData };
    const crossing = toJson({ systemPrompt, tools });
    return { crossing, json: toJson(crossing === prompt ? info : { ...info, systemPrompt, tools }) };
  };

  /** How many messages at the front are those of the last call. */
  const unchanged = (messages) => {
    let count = 0;
    while (count < known.length && count < messages.length && equal(messages[count], known[count])) {
      count++;
    }
    return count;
  };

  const run = async (messages, call) => {
    // Nothing has changed before all of this is read: what cannot be read does no harm to the next call.
    const skip = reading("messages", () => unchanged(messages));
    const rest = reading("messages", () => toJson(messages.slice(skip)));
    const info = reading("call", () => infoOf(call));
    const answer = await cross(skip, rest, info.json);
    if (answer.resend) {
      forget();
      return run(messages, call);
    }
    fresh = false;
    prompt = info.crossing;
    known.length = skip;
    for (const copy of JSON.parse(rest)) {
      known.push(copy);
    }
    for (const edit of answer.edits) {
      slots.splice(edit.at, edit.remove, ...edit.insert);
    }
    answer.events.forEach(tell);
    return slots.map((slot) => build(slot, messages));
  };

  /** After an error Rust starts from nothing too. */
  const cross = async (skip, rest, info) => {
    try {
      return JSON.parse(await session.transformFrom(fresh, skip, rest, info));
    } catch (error) {
      forget();
      throw error;
    }
  };

  /** The list as it is now: the host may go on with its own while a call waits or works. */
  const listOf = (messages) => {
    if (!reading("messages", () => Array.isArray(messages))) {
      throw refuse("`messages` is no array");
    }
    return reading("messages", () => messages.slice());
  };

  /** Work on the session begins in the order in which it was asked for, and when what came before has ended. */
  const inTurn = (work) => {
    const result = queue.then(work);
    queue = result.catch(() => {});
    return result;
  };

  /** An argument as it is now; what is no JSON is refused where it is read. */
  const snapshotOf = (argument, value) => {
    const json = reading(argument, () => toJson(value));
    return json === undefined ? value : JSON.parse(json);
  };

  /** JSON of a request; bytes in it as base64. */
  const requestJson = (payload) => {
    const json = JSON.stringify(payload, function (key, item) {
      const bytes = this[key];
      if (ArrayBuffer.isView(bytes)) {
        return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
      }
      return typeof item === "string" && !item.isWellFormed() ? item.toWellFormed() : item;
    });
    if (json === undefined) {
      throw refuse("`payload` is no JSON");
    }
    return json;
  };

  /** A value with one change of a JSON Patch; what lies beside the change's path is shared with `value`. */
  const patched = (value, [name, ...rest], { op, value: given }) => {
    const copy = Array.isArray(value) ? [...value] : { ...value };
    if (rest.length > 0) {
      copy[name] = patched(value[name], rest, { op, value: given });
    } else if (op === "remove") {
      delete copy[name];
    } else if (op === "add" && Array.isArray(copy)) {
      copy.splice(Number(name), 0, given);
    } else {
      copy[name] = given;
    }
    return copy;
  };

  const half = {
    async preparePayload(payload) {
      const json = reading("payload", () => requestJson(payload));
      const patches = JSON.parse(await inTurn(() => session.preparePayloadNow(json)));
      return patches.reduce((value, patch) => patched(value, patch.path.split("/").slice(1), patch), payload);
    },

    async transformContext(messages, call) {
      const list = listOf(messages);
      return inTurn(() => run(list, call));
    },

    async toolFinished(event) {
      const snapshot = snapshotOf("event", event);
      return inTurn(() => session.toolFinishedNow(snapshot));
    },

    async editFailed(args) {
      const snapshot = snapshotOf("args", args);
      return inTurn(() => session.editFailedNow(snapshot));
    },

    async usageReported(report) {
      const snapshot = snapshotOf("report", report);
      return inTurn(() => session.usageReportedNow(snapshot));
    },

    async close() {
      return inTurn(() => session.closeNow());
    },

    onEvent(listener) {
      if (typeof listener !== "function") {
        throw refuse("`listener` is no function");
      }
      listeners.add(listener);
    },
  };

  /** Tells how far the check of the session's files is, once a second while it runs, and when it has ended. */
  const watchCheck = () => {
    let all = 0;
    const timer = setInterval(() => {
      const checked = session.filesChecked();
      if (checked !== null) {
        [, all] = checked;
        tell({ type: "checking_files", files: checked[0], of: all });
        return;
      }
      clearInterval(timer);
      if (all > 0) {
        tell({ type: "checking_files", files: all, of: all });
      }
    }, 1000);
    timer.unref();
  };

  watchCheck();
  Object.defineProperty(session, name, { value: half });
};
