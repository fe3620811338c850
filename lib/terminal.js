// Text for a terminal: what a content, a path or a name holds must not move the cursor, change colours, or show in another order than
// it has.

const kept = ["\n", "\r\n", "\t"];

/**
 * Text whose control characters, and those that change the direction of writing, are spelt out as `\u001b`. Line ends and tabs stay.
 * Done twice it changes nothing more.
 * @param {string} text
 */
export function harmless(text) {
  return text.replace(/\r\n|[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (found) =>
    kept.includes(found) ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
