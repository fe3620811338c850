// The JavaScript half of `Session.transformContext`: finds what is new in the host's list of messages, so that only that
// crosses to Rust, and builds the list that goes out. It keeps a copy of the list at the last call and what each message of
// the request is made of; it decides nothing. The value of this script is a function that attaches it to a session.
(session) => {
  /** The host's messages at the last call, as they crossed. */
  const known = [];
  /** What each message of the request is made of: `{host, content?}` or `{message}`. */
  const slots = [];
  /** System prompt and tools as they crossed last. */
  let prompt = "";
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

  const refuse = (message) => Object.assign(new TypeError(message), { code: "INVALID_ARGUMENT" });

  const forget = () => {
    known.length = 0;
    slots.length = 0;
    prompt = "";
  };

  /** The host's own message where nothing changes; else a copy with another content. */
  const build = (slot, messages) => {
    const copies = (blocks) => blocks.map((block) => ({ ...block }));
    if (slot.message !== undefined) {
      return { ...slot.message, content: copies(slot.message.content) };
    }
    const message = messages[slot.host];
    return slot.content === undefined ? message : { ...message, content: copies(slot.content) };
  };

  const tell = (event) => {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch {
        // A listener's fault is its own.
      }
    }
  };

  /** What Rust is told of a call: system prompt and tools only where they changed. */
  const infoOf = (call) => {
    const { systemPrompt, tools, model } = call ?? {};
    const info = { model: model && `${model.provider}/${model.id}`, contextWindow: model?.contextWindow };
    const next = toJson({ systemPrompt, tools });
    if (next === prompt) {
      return toJson(info);
    }
    prompt = next;
    return toJson({ ...info, systemPrompt, tools });
  };

  const run = async (messages, call) => {
    let skip = 0;
    while (skip < known.length && skip < messages.length && equal(messages[skip], known[skip])) {
      skip++;
    }
    const fresh = toJson(messages.slice(skip));
    const answer = JSON.parse(await session.transformFrom(skip, fresh, infoOf(call)));
    if (answer.resend) {
      forget();
      return run(messages, call);
    }
    known.length = skip;
    for (const copy of JSON.parse(fresh)) {
      known.push(copy);
    }
    for (const edit of answer.edits) {
      slots.splice(edit.at, edit.remove, ...edit.insert);
    }
    answer.events.forEach(tell);
    return slots.map((slot) => build(slot, messages));
  };

  const define = (name, value) => Object.defineProperty(session, name, { value });

  define("transformContext", (messages, call) => {
    const result = queue.then(() => {
      if (!Array.isArray(messages)) {
        throw refuse("`messages` is no array");
      }
      return run(messages, call);
    });
    queue = result.catch(forget);
    return result;
  });

  define("onEvent", (listener) => {
    if (typeof listener !== "function") {
      throw refuse("`listener` is no function");
    }
    listeners.add(listener);
  });
};
