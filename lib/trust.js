// What is said of a project that a person trusts, or was not asked about. Decides nothing.
import { plural } from "./describe.js";
import { shellWord } from "./program.js";
import { name } from "./terminal.js";

/** @typedef {import("../index.js").ProjectTrust} ProjectTrust */

/** Files that are named. */
const mostNamed = 6;

/** @param {ProjectTrust} found */
function named({ files }) {
  const first = files.slice(0, mostNamed).map((file) => `.pi/${name(file)}`);
  const more = files.length - first.length;
  return [...first, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

/** @param {ProjectTrust} found */
function why({ standing }) {
  return standing === "changed"
    ? "You trusted what stood here; now it belongs to another user or is another repository."
    : "They go into the model's instructions, and you have not said yet that you trust them.";
}

/** The question. @param {ProjectTrust} found */
export function whatIsBrought(found) {
  const what = `This project brings memory or settings for Palimpsest: ${named(found)}.`;
  return `${what} ${why(found)} Use them in ${name(found.path)}?`;
}

/** What is said where nobody can be asked. @param {ProjectTrust} found @param {string} how how to answer, beside the command line */
export function untrustedText(found, how) {
  const what = `${plural(found.files.length, "file")} of memory or settings in this project (${named(found)})`;
  const verb = found.files.length === 1 ? "is" : "are";
  return `${what} ${verb} not used, since you have not said that you trust it: ${how} \`palimpsest trust ${shellWord(name(found.path))}\``;
}

/** What an answer means. @param {ProjectTrust} found */
export function trustedText({ path: real, standing, counts, files }) {
  const path = name(real);
  const what = files.length === 0 ? "its memory and settings" : named(/** @type {ProjectTrust} */ ({ files }));
  const verb = files.length === 1 ? "is" : "are";
  if (standing === "denied") {
    return `\`${path}\` is not trusted: ${what} are not used. \`palimpsest trust\` changes that.`;
  }
  if (standing === "trusted") {
    return `\`${path}\` is trusted: ${what} ${verb} used there, and what it gets later too, for as long as it is the same repository of the same owner.`;
  }
  if (!counts) {
    return `\`${path}\` is no longer trusted: ${what} ${verb} not used until you trust it again.`;
  }
  return files.length === 0
    ? `\`${path}\` brings no memory and no settings: there is nothing to trust.`
    : `\`${path}\` holds only what your own sessions wrote, which is used unasked: ${what}.`;
}
