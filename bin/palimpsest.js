#!/usr/bin/env node
// The `palimpsest` command: finds the command, runs it, and turns errors into a message and an exit code. What a command does is in
// its file under `commands/`; what the store does, in the addon.
import { commands } from "./commands.js";
import { parseArguments, text, UsageError } from "./lib/arguments.js";
import { exitCode, printError } from "./lib/errors.js";
import { commandHelp, overview, version } from "./lib/help.js";
import { write } from "./lib/output.js";

process.exitCode = await main(process.argv.slice(2));

/**
 * @param {string[]} given
 * @returns {Promise<number>} the exit code
 */
async function main(given) {
  const end = given.indexOf("--");
  const json = given.slice(0, end < 0 ? undefined : end).includes("--json");
  const [name, ...rest] = commandFirst(given);
  /** @type {import("./lib/errors.js").Asked | undefined} */
  let asked;
  try {
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      const about = name === "help" ? rest.find((argument) => !argument.startsWith("-")) : undefined;
      await write(about === undefined ? overview() : commandHelp(commandNamed(about)));
      return name === undefined ? 2 : 0;
    }
    if (name === "--version") {
      await write(`${version()}\n`);
      return 0;
    }
    const command = commandNamed(name);
    const parsed = parseArguments(command, rest);
    asked = { command, name: parsed.positionals[0], session: text(parsed, "session"), store: parsed.store };
    if (parsed.help) {
      await write(commandHelp(command));
      return 0;
    }
    return (await command.run(parsed)) ?? 0;
  } catch (error) {
    await printError(error, json, asked);
    return exitCode(error);
  }
}

/**
 * The arguments with the command moved to the front: options that every command has may come before it.
 * @param {string[]} given
 */
function commandFirst(given) {
  let length = 0;
  while (given[length] === "--json" || given[length]?.startsWith("--store")) {
    length += given[length] === "--store" ? 2 : 1;
  }
  return [...given.slice(length, length + 1), ...given.slice(0, length), ...given.slice(length + 1)];
}

/**
 * @param {string} name
 * @returns {import("./lib/arguments.js").Command}
 */
function commandNamed(name) {
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    throw new UsageError(`there is no command \`${name}\``, "`palimpsest --help` lists the commands");
  }
  return command;
}
