// What Pi offers while a command is typed. While something is offered, Enter takes it instead of running the command: so only what adds
// to what was typed is offered, and never another name for it. Decides nothing about contexts.

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
