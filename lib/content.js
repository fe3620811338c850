// The content of a tool's result, as hosts give it: blocks, a text, or nothing.

/** @typedef {{ type: string, [field: string]: unknown }} Block */

/** The blocks of a content: tools written in JavaScript may give a string, or nothing, in their place. @param {unknown} content @returns {Block[]} */
export function blocksOf(content) {
  if (typeof content === "string") {
    return [{ type: "text", text: content }];
  }
  return Array.isArray(content) ? content : [];
}

/**
 * Appends a text to the last text block, so that an error with one block keeps one block.
 * @template B the host's blocks
 * @param {readonly B[]} content
 * @param {string} text
 * @returns {B[]}
 */
export function withText(content, text) {
  const blocks = blocksOf(content);
  const last = blocks.at(-1);
  const all =
    last?.type === "text"
      ? [...blocks.slice(0, -1), { ...last, text: `${last.text}\n\n${text}` }]
      : [...blocks, { type: "text", text }];
  return /** @type {B[]} */ (all);
}
