// Who may do what with a command: it follows from the conversation and who writes, and from what the command and each option of it declare
// beside their definition. What is not declared, or not known, is the owner's alone, in a conversation of their own. Pure; knows no host.

/**
 * Whose a conversation is: `owner`: nobody else reads or writes it. `person`: a private chat with somebody else. `group`: several people
 * are told apart in it. `mixed`: it cannot be said who takes part.
 * @typedef {"owner" | "person" | "group" | "mixed"} Conversation
 *
 * Who writes: `member`: somebody else whom the host lets in. `stranger`: anybody else.
 * @typedef {"owner" | "member" | "stranger"} Sender
 *
 * What a command or an option is declared to do: `read`: it shows nothing but the conversation's own. `change`: it changes nothing but
 * that. Without either it works only for the owner, in a private conversation.
 * @typedef {"read" | "change"} May
 *
 * @typedef {{ conversation: Conversation, sender: Sender }} Asked
 *
 * @typedef {object} Declared what a command declares
 * @property {May} [may]
 * @property {ReadonlyMap<string, { may?: May }>} [options] its options, by name
 * @property {boolean} [takesText] whether any other word with a dash is text to it
 */

/** Conversations in which each member reads what the conversation holds: they wrote it, or heard it. */
const read = new Set(["person", "group"]);

/** Whether nobody but the owner is there. @param {Asked} asked */
export function isOwners({ conversation, sender }) {
  return conversation === "owner" && sender === "owner";
}

/** Whether somebody may use what is declared so. @param {Asked} asked @param {May | undefined} may */
export function isAllowed(asked, may) {
  if (asked.sender === "owner") {
    return asked.conversation === "owner" || may === "read" || may === "change";
  }
  return asked.sender === "member" && read.has(asked.conversation) && may === "read";
}

/**
 * The first of the words that is an option which somebody may not use; undefined if there is none. Where others are, each word that looks
 * like an option has to be one, but for what takes text.
 *
 * @param {Asked} asked
 * @param {Declared} declared
 * @param {string} given what was typed behind the command
 */
export function refusedOption(asked, { options, takesText = false }, given) {
  if (isOwners(asked)) {
    return undefined;
  }
  // Keyboards of phones make one long dash of two.
  const words = given
    .split(/\s+/)
    .filter((word) => options?.has(word) || (!takesText && /^[-\u2010-\u2015\u2212]/u.test(word)));
  return words.find((word) => !isAllowed(asked, options?.get(word)?.may));
}
