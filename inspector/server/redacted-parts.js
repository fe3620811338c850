// What a page is to carry without its secrets, which says of itself where something was taken out. Must not know how secrets are found.
import { documentWithoutSecrets } from "../../index.js";
import { listOf } from "./deltas.js";

/**
 * @import { CarriedCall, CarriedList, CarriedMessage } from "../protocol.js"
 * @import { Kind, Parts, ReadParts } from "./carry.js"
 */

/**
 * Paths, and with them the name of a home folder, IDs and hashes stay, as in an archive.
 * @param {Parts} parts
 * @param {Kind[]} kinds of the texts
 */
export async function redacted(parts, kinds) {
  const isDiff = (/** @type {number} */ at) => kinds[at] === "diff" || kinds[at] === "fileDiff";
  const texts = parts.texts.map((text, at) => (isDiff(at) ? { diff: text } : text));
  const clean = JSON.parse(await documentWithoutSecrets(JSON.stringify({ ...parts, texts })));
  return marked(parts, {
    ...clean,
    texts: clean.texts.map((/** @type {string | { diff: string }} */ text) =>
      typeof text === "string" ? text : text.diff,
    ),
  });
}

/**
 * With messages of which something was taken out as withheld, calls that hold one as not checked, and versions as without a secret.
 * @param {Parts} before
 * @param {Parts} after
 * @returns {Parts}
 */
function marked(before, after) {
  const isChanged = (/** @type {CarriedMessage} */ [text]) => before.texts[text] !== after.texts[text];
  const abouts = new Abouts(after.abouts);
  const list = (/** @type {CarriedList<CarriedMessage>} */ { keep, add, tail }) => {
    const entries = add.map((entry) => (isChanged(entry) ? abouts.withheld(entry) : entry));
    return { keep, add: entries, tail };
  };
  /** @type {CarriedMessage[]} */
  let sent = [];
  const calls = after.calls.map((entry) => {
    if ("error" in entry) {
      return entry;
    }
    sent = listOf(sent, entry.sent);
    const verified = entry.call.verified && !sent.some(isChanged);
    return { ...entry, call: { ...entry.call, verified }, sent: list(entry.sent), plain: list(entry.plain) };
  });
  const objects = Object.entries(after.objects).map(([id, object], at) => {
    const was = Object.values(before.objects)[at];
    return [id, "error" in object || "error" in was ? object : markedObject(was, object)];
  });
  return { ...after, calls, abouts: abouts.all, objects: Object.fromEntries(objects) };
}

/**
 * @param {ReadParts} was
 * @param {ReadParts} object
 */
function markedObject(was, { view, contents, diffs }) {
  const versions = view.versions.map((version, at) =>
    typeof contents[at] === "string" && contents[at] !== was.contents[at] && version.redacted === null
      ? { ...version, redacted: /** @type {const} */ ("secret") }
      : version,
  );
  return { view: { ...view, versions }, contents, diffs };
}

/** What is known of messages, with what is known of those that are withheld. */
class Abouts {
  /** @param {Parts["abouts"]} all */
  constructor(all) {
    this.all = [...all];
    /** @type {Map<number, number>} */
    this.places = new Map();
  }

  /**
   * @param {CarriedMessage} entry
   * @returns {CarriedMessage}
   */
  withheld([text, about]) {
    const known = this.all[about];
    const place = this.places.get(about) ?? (known.withheld === null ? this.all.length : about);
    if (place === this.all.length) {
      this.all.push({ ...known, withheld: "redacted" });
    }
    this.places.set(about, place);
    return [text, place];
  }
}
