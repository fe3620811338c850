// What Pi offers while a command is typed. While something is offered, Enter takes it instead of running the command: so only what adds
// to what was typed is offered, and never another name for it. Decides nothing about contexts.

import type { Session, SessionSets } from "./addon.ts";

/** What is offered: `value` stands in the place of all that was typed. */
export interface Offered {
  readonly value: string;
  readonly label: string;
  readonly description?: string;
}

/**
 * Those that add something to what was typed, or null: Pi offers nothing then. Nothing is offered to what is whole as it stands, or to a
 * part without a word behind it.
 */
export function adding(typed: string, items: readonly Offered[]): Offered[] | null {
  const words = typed.trimStart();
  const isWhole = items.some(({ value }) => value === words);
  return isWhole || items.length === 0 || /\s$/.test(typed) ? null : [...items];
}

/** For how long the sets of a session are used again while a line is typed, in milliseconds. */
const typingMs = 5_000;

let asked: { session: Session; at: number; sets: Promise<SessionSets> } | undefined;

/**
 * The sets of a session, asked for at the first word and kept while the line goes on. Pi applies what it offered for an older text to the
 * text of now where Enter comes before an answer: so an answer must not wait for a thread at each key.
 */
export function setsWhileTyping(session: Session, isFirst: boolean): Promise<SessionSets> {
  const now = Date.now();
  if (asked?.session !== session || isFirst || now - asked.at > typingMs) {
    asked = { session, at: now, sets: session.sets() };
    asked.sets.catch(() => {
      asked = undefined;
    });
  }
  return asked.sets;
}
