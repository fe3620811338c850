// Arguments of the command line: what a command declares, and reading what was given. Prints nothing.
import { parseArgs } from "node:util";

/**
 * @typedef {object} Option
 * @property {"boolean" | "string"} type
 * @property {string} [value] placeholder for the value in the help
 * @property {string} text what it does
 * @property {boolean} [multiple] whether it may be repeated: its value is a list
 *
 * @typedef {object} Command
 * @property {string} name
 * @property {string} usage the arguments
 * @property {string} summary one line
 * @property {[least: number, most: number]} arguments how many
 * @property {Record<string, Option>} options its own, beside `--json`, `--store` and `--help`
 * @property {string[]} [notes] further paragraphs of the help
 * @property {string} json shape of the document that `--json` prints, by the types of `index.d.ts`
 * @property {string[]} examples
 * @property {(given: Given) => Promise<number | undefined | void>} run resolves to the exit code; undefined is 0
 *
 * @typedef {object} Given
 * @property {string[]} positionals
 * @property {Record<string, string | boolean | (string | boolean)[] | undefined>} values
 * @property {boolean} json
 * @property {boolean} help
 * @property {string | undefined} store
 */

/** Options that every command has. @type {Record<string, Option>} */
export const sharedOptions = {
  json: { type: "boolean", text: "print one JSON document" },
  store: { type: "string", value: "PATH", text: "the store's file" },
  help: { type: "boolean", text: "print this text" },
};

/** A wrong use of the command line; exit code 2. */
export class UsageError extends Error {
  code = "USAGE";

  /**
   * @param {string} message
   * @param {string} hint
   */
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

/**
 * Reads the arguments after the command's name.
 * @param {Command} command
 * @param {string[]} given
 * @returns {Given}
 */
export function parseArguments(command, given) {
  const options = { ...sharedOptions, ...command.options };
  const hint = `\`palimpsest ${command.name} --help\` shows its arguments`;
  const { values, positionals } = parse(given, options, hint);
  const help = values.help === true;
  const [least, most] = command.arguments;
  if (!help && positionals.length < least) {
    throw new UsageError(`an argument is missing: palimpsest ${command.name} ${command.usage}`, hint);
  }
  if (!help && positionals.length > most) {
    throw new UsageError(`\`${positionals[most]}\` is one argument too many`, hint);
  }
  const store = typeof values.store === "string" ? values.store : undefined;
  if (store === "") {
    throw new UsageError("`--store` is empty", hint);
  }
  return { positionals, values, json: values.json === true, help, store };
}

/**
 * @param {string[]} given
 * @param {Record<string, Option>} options
 * @param {string} hint
 */
function parse(given, options, hint) {
  const end = given.indexOf("--");
  // `-1` is the value of the option before it, else a version, and no option; the store also accepts `@-1`.
  const args = given.slice();
  for (let at = (end < 0 ? given.length : end) - 1; at >= 0; at -= 1) {
    if (/^-\d+$/.test(given[at])) {
      const before = given[at - 1] ?? "";
      const takesIt = before.startsWith("--") && options[before.slice(2)]?.type === "string";
      args.splice(takesIt ? at - 1 : at, takesIt ? 2 : 1, takesIt ? `${before}=${given[at]}` : `@${given[at]}`);
    }
  }
  try {
    return parseArgs({
      args,
      options: Object.fromEntries(
        Object.entries(options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
      ),
      allowPositionals: true,
    });
  } catch (error) {
    // Node appends advice of its own after the first sentence.
    const [problem] = (error instanceof Error ? error.message : String(error)).split(/\.\s/);
    const quoted = problem.replaceAll("'", "`");
    throw new UsageError(`${quoted.charAt(0).toLowerCase()}${quoted.slice(1)}`, hint);
  }
}

/**
 * The value of an option that takes a whole number.
 * @param {Given} given
 * @param {string} name
 * @returns {number | undefined}
 */
export function wholeNumber(given, name) {
  const text = given.values[name];
  if (text === undefined) {
    return undefined;
  }
  const number = Number(text);
  if (typeof text !== "string" || !/^\d+$/.test(text) || number > 0xffff_ffff) {
    throw new UsageError(
      `\`--${name}\` must be a whole number, is \`${String(text)}\``,
      "write it in digits, such as `50`",
    );
  }
  return number;
}

/**
 * The value of an option that takes a text.
 * @param {Given} given
 * @param {string} name
 * @returns {string | undefined}
 */
export function text(given, name) {
  const value = given.values[name];
  return typeof value === "string" ? value : undefined;
}
