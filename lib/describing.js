// What a person says of an object: its summary, the fields that its line shows, fields of their own. A version like any, with the same
// content. Knows no session.

/**
 * @import { Store } from "../index.js"
 *
 * @typedef {object} Described what is said; an empty text takes away what was said before
 * @property {string} [summary] a line, which stands behind the object's reference line
 * @property {string} [view] names of the fields that stand there instead, separated by commas
 * @property {string[]} [fields] fields as `KEY=VALUE`, the value as JSON or as text
 */

/** How often others may write a version meanwhile. */
const tries = 5;

/** Fields that say what the object is, and are not a person's, and names under which a query finds something else. */
const own = new Set([
  "id",
  "type",
  "source",
  "path",
  "origin",
  "identity_hash",
  "tx_id",
  "system_time",
  "content_hash",
  "source_hash",
  "has_content",
  "item_count",
  "redacted",
  "forgotten",
  "nickname",
  "additional",
  "fields",
  "file_type",
  "char_count",
  "size_bytes",
  "no_content",
  "partial",
  "shown",
  "moved_from",
  "chat_ref",
  "session_ref",
  "tool",
  "args",
  "args_display",
  "status",
  "position",
  "file_refs",
  "diff",
  "provider_call_id",
  "full_output",
  "turns",
]);

/**
 * Describes an object; returns its ID. Rejects with `INVALID_ARGUMENT`, and as `Store.get` and `Store.put`.
 * @param {Store} store
 * @param {string} name as `Store.find` takes it
 * @param {Described} said
 */
export async function describeObject(store, name, said) {
  const changes = changesOf(said);
  const id = await store.find(name);
  for (let attempt = 1; ; attempt++) {
    const version = await store.get(id);
    if (!["file", "toolcall", "chat_segment"].includes(version.type)) {
      throw invalid(
        `a ${version.type.replace("_", " ")} has its own description; files, tool calls and parts of the chat take one`,
      );
    }
    const fields = Object.entries({ ...version.fields, ...changes }).filter(([, value]) => value !== undefined);
    const additional = Object.keys(version.additional).map(async (field) => [
      field,
      await store.content(id, { field }),
    ]);
    try {
      await store.put({
        type: version.type,
        ...(version.source === null ? { id } : { source: version.source }),
        content: await store.content(id),
        ...(version.sourceHash !== null && { sourceHash: version.sourceHash }),
        fields: Object.fromEntries(fields),
        additional: Object.fromEntries(await Promise.all(additional)),
        expected: version.txId,
      });
      return id;
    } catch (error) {
      if (/** @type {{ code?: unknown }} */ (error).code !== "CONFLICT" || attempt === tries) {
        throw error;
      }
    }
  }
}

/** @param {Described} said @returns {Record<string, unknown>} */
function changesOf({ summary, view, fields = [] }) {
  const names = view
    ?.split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const pairs = fields.map((field) => {
    const [, key = "", value = ""] = /^([^=]*)=(.*)$/s.exec(field) ?? [];
    if (key.trim() === "" || own.has(key.trim())) {
      throw invalid(`\`${field}\` cannot be set: give \`KEY=VALUE\`, with a key that Palimpsest does not use itself`);
    }
    return [key.trim(), givenValue(value)];
  });
  return {
    ...(summary !== undefined && { short_summary: summary.trim() === "" ? undefined : oneLine(summary) }),
    ...(names !== undefined && { view: names.length === 0 ? undefined : names }),
    ...Object.fromEntries(pairs),
  };
}

/** @param {string} text */
function givenValue(text) {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

/** @param {string} text */
function oneLine(text) {
  return text.trim().replaceAll(/\s+/g, " ");
}

/** @param {string} message */
function invalid(message) {
  return Object.assign(new Error(message), { code: "INVALID_ARGUMENT" });
}
