// The command `/memory`: what is typed, and where the answer is shown. What it does and says is in lib/memory-command.js, for the command
// line too. Decides nothing about memory.
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { isIncomplete, memoryCompletions, memoryParts, runPart } from "../lib/memory-command.js";
import { adding, type Offered } from "./completions.ts";
import { describe, tell } from "./failures.ts";
import type { MemoryLife } from "./memory.ts";
import { showPanel } from "./panel.ts";
import type { SessionLife } from "./session.ts";

/** Lines that stand in the transcript; more are shown in a panel. */
const maxLines = 3;

/** Columns of the names in the list of the parts. */
const helpIndent = 48;

const command = "/memory";

/** Turns it off and on: only a session can. */
const switches = new Map([
  ["off", "keep memory out of the system prompt in this session"],
  ["on", "put it into the system prompt again"],
]);

/** Runs the command. `args`: what was typed after it. */
export async function runMemory(
  life: SessionLife,
  memory: MemoryLife,
  args: string,
  ctx: ExtensionCommandContext,
): Promise<void> {
  const [, name = "overview", given = ""] = /^\s*(\S+)\s*(.*?)\s*$/s.exec(args) ?? [];
  const text = await answer(life, memory, name, given, ctx).catch(describe);
  if (ctx.mode === "tui" && text.split("\n").length > maxLines) {
    await showPanel(ctx, `Palimpsest · ${command} ${args}`.trim(), text, memoryParts.get(name)?.indent ?? helpIndent);
  } else {
    tell(ctx, text, "info");
  }
}

async function answer(
  life: SessionLife,
  memory: MemoryLife,
  name: string,
  given: string,
  ctx: ExtensionCommandContext,
): Promise<string> {
  if (switches.has(name)) {
    return turn(memory, name === "on");
  }
  const part = memoryParts.get(name);
  if (part === undefined) {
    return (name === "help" ? "" : `\`${command} ${name}\` is not known. `) + help();
  }
  if (isIncomplete(part, given)) {
    return `Which one? \`${command} ${name} ${part.usage}\``;
  }
  return (await runPart(part, await around(life, memory, ctx), given)).text;
}

async function around(life: SessionLife, memory: MemoryLife, ctx: ExtensionCommandContext) {
  return {
    memory: await memory.open(ctx),
    say: memory.say,
    command,
    store: life.current?.store,
    session: life.current?.session.id,
    off: !memory.isOn,
  };
}

function turn(memory: MemoryLife, on: boolean): string {
  if (memory.isOn === on) {
    return `Memory is ${on ? "on" : "off"} in this session already.`;
  }
  memory.turn(on);
  return on
    ? "Memory is on again in this session: the next prompt has it."
    : `Memory is off in this session: the next prompt has none of it. \`${command} on\` turns it on again.`;
}

/** The parts that begin so; after a part, what it completes. */
export async function completeMemory(life: SessionLife, memory: MemoryLife, typed: string): Promise<Offered[] | null> {
  const [, name, given = ""] = /^\s*(\S+)\s+(.*)$/s.exec(typed) ?? [];
  if (name === undefined) {
    const all = [...[...memoryParts].map(([part, { summary }]) => [part, summary]), ...switches];
    const fitting = all.filter(([known]) => known.startsWith(typed.trimStart()));
    return adding(
      typed,
      fitting.map(([known, description]) => ({ value: known, label: known, description })),
    );
  }
  const opened = memory.opened;
  if (opened === undefined) {
    return null;
  }
  const items = await memoryCompletions(
    { memory: opened, say: memory.say, command, store: life.current?.store },
    name,
    given,
  );
  return adding(
    typed,
    items.map(({ value, description }) => ({ value: `${name} ${value}`, label: value, description })),
  );
}

function help(): string {
  const lines = [...memoryParts].map(([name, { usage, summary }]) => [`${name} ${usage}`, summary]);
  const rows = [...lines, ...switches].map(([name, summary]) => `${name.padEnd(helpIndent - 1)} ${summary}`);
  return [`\`${command}\` takes:`, ...rows].join("\n");
}
