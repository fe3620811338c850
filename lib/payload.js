// A request in the provider's format: as JSON on its way to the native side, and changed as the answer says.
import { invalidArgument, reading } from "./arguments.js";

/**
 * One operation of a JSON Patch (RFC 6902), of those that are used.
 * @typedef {{ op: "add" | "replace" | "remove", path: string, value?: unknown }} Patch
 */

/**
 * JSON of a request; bytes in it become base64.
 * @param {unknown} payload
 */
export function payloadJson(payload) {
  const json = reading("payload", () => JSON.stringify(payload, replaceValue));
  if (json === undefined) {
    throw invalidArgument("`payload` is not JSON");
  }
  return json;
}

/**
 * @this {any} the object that holds the value
 * @param {string} key
 * @param {unknown} value after `toJSON`, which gives a `Buffer` another shape
 */
function replaceValue(key, value) {
  const bytes = this[key];
  if (ArrayBuffer.isView(bytes)) {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
  return typeof value === "string" ? value.toWellFormed() : value;
}

/**
 * A copy of a request with some changes, which shares with `payload` what they do not touch; `payload` itself without any.
 * @template T
 * @param {T} payload
 * @param {Patch[]} patches
 * @returns {T}
 */
export function patched(payload, patches) {
  return patches.reduce(
    (value, patch) => /** @type {T} */ (withPatch(value, patch.path.split("/").slice(1), patch)),
    payload,
  );
}

/**
 * @param {any} value
 * @param {string[]} path names from `value` to what changes
 * @param {Patch} patch
 */
function withPatch(value, [name, ...rest], patch) {
  const copy = Array.isArray(value) ? [...value] : { ...value };
  if (rest.length > 0) {
    copy[name] = withPatch(value[name], rest, patch);
  } else if (patch.op === "remove") {
    delete copy[name];
  } else if (patch.op === "add" && Array.isArray(copy)) {
    copy.splice(Number(name), 0, patch.value);
  } else {
    copy[name] = patch.value;
  }
  return copy;
}
