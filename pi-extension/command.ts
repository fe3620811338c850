// The command `/context`: what it takes, and what it shows. Decides nothing about contexts.
import type { ExtensionCommandContext, RegisteredCommand } from "@earendil-works/pi-coding-agent";
import type { ContextTool } from "./addon.ts";
import { describe, tell } from "./failures.ts";
import type { Live } from "./live.ts";
import { contentText, historyText, nameItems, type Opened, objectsText, standing, whyText } from "./objects.ts";
import { contextReport } from "./report.ts";
import type { Trouble } from "./status.ts";
import type { Off } from "./switch.ts";

/** An open session, as the command needs it. */
type Shown = Pick<Live, "session" | "store" | "layout" | "notices"> & {
  readonly trouble: Trouble;
  readonly tools: readonly ContextTool[];
};

/** What the command acts on. */
export interface ContextHost {
  /** The open session; undefined where Palimpsest is off. */
  current(): Shown | undefined;
  /** Why it is off. */
  off(): Off | undefined;
  turnOff(ctx: ExtensionCommandContext): Promise<void>;
  turnOn(ctx: ExtensionCommandContext): Promise<void>;
}

/** A part of the command. */
interface Part {
  /** What it takes, as shown. */
  readonly usage: string;
  readonly summary: string;
  /** Whether it takes the name of an object. */
  readonly named?: true;
  /** Answers with a text. `given`: what was typed after the name of the part. */
  run(given: string, ctx: ExtensionCommandContext): Promise<string>;
}

/** By name. */
type Parts = ReadonlyMap<string, Part>;

/** Makes the command. */
export function contextCommand(host: ContextHost): Omit<RegisteredCommand, "name" | "sourceInfo"> {
  const parts: Parts = new Map(Object.entries(partsOf(host)));
  return {
    description: "Show what Palimpsest does in this session and what it saves, or turn it off and on",
    getArgumentCompletions: (typed) => completions(host, parts, typed),
    async handler(args, ctx) {
      const [name, ...rest] = args.trim().split(/\s+/);
      const given = rest.join(" ");
      const text = await answer(parts, name, given, ctx).catch(describe);
      tell(ctx, text, "info");
    },
  };
}

async function answer(parts: Parts, name: string, given: string, ctx: ExtensionCommandContext): Promise<string> {
  const part = parts.get(name === "" ? "overview" : name);
  if (part === undefined) {
    return (name === "help" ? "" : `\`/context ${name}\` is not known. `) + help(parts);
  }
  return part.named && given === "" ? `Which one? \`/context ${name} ${part.usage}\`` : part.run(given, ctx);
}

function partsOf(host: ContextHost): Record<string, Part> {
  return {
    overview: { usage: "", summary: "what it does and saves", run: async () => overview(host) },
    off: {
      usage: "",
      summary: "turn it off in this session",
      async run(_given, ctx) {
        if (host.current() === undefined) {
          return offText(host.off());
        }
        await host.turnOff(ctx);
        return "Palimpsest is off in this session: the model gets Pi's own messages. `/context on` turns it on again.";
      },
    },
    on: {
      usage: "",
      summary: "turn it on in this session",
      async run(_given, ctx) {
        if (host.current() !== undefined) {
          return "Palimpsest is on in this session.";
        }
        await host.turnOn(ctx);
        return host.current() === undefined ? offText(host.off()) : "Palimpsest is on again in this session.";
      },
    },
    objects: {
      usage: "[FILTER]",
      summary: "list the files and outputs that the session met",
      run: (given, ctx) => opened(host, ctx, (current) => objectsText(current, given)),
    },
    show: {
      usage: "NAME",
      summary: "show the text of one, also an earlier version (`f3@-1`)",
      named: true,
      run: (given, ctx) => opened(host, ctx, (current) => contentText(current, given)),
    },
    history: {
      usage: "NAME",
      summary: "list the versions of one",
      named: true,
      run: (given, ctx) => opened(host, ctx, (current) => historyText(current, given)),
    },
    why: {
      usage: "[NAME]",
      summary: "how the last call showed it, and why",
      run: (given, ctx) => opened(host, ctx, (current) => whyText(current, given)),
    },
    pin: {
      usage: "NAME",
      summary: "keep its text in the window until it is unpinned",
      named: true,
      run: (given, ctx) => opened(host, ctx, (current) => pinned(current, given)),
    },
    deactivate: {
      usage: "NAME",
      summary: "let its text leave the window with the next epoch",
      named: true,
      run: (given, ctx) => opened(host, ctx, (current) => changed(current, "deactivate", given)),
    },
    unpin: {
      usage: "NAME",
      summary: "lift its pin; its text stays for now",
      named: true,
      run: (given, ctx) => opened(host, ctx, (current) => changed(current, "unpin", given)),
    },
  };
}

/** What is answered in an open session; else why there is none. */
async function opened(
  host: ContextHost,
  { cwd }: ExtensionCommandContext,
  answer: (current: Shown & Opened) => Promise<string>,
): Promise<string> {
  const current = host.current();
  return current === undefined ? offText(host.off()) : answer({ ...current, cwd });
}

/**
 * Pins what stands in the window. In the layout `log` other content could only come as an answer to the model, which has to ask for it.
 */
async function pinned(current: Shown & Opened, name: string): Promise<string> {
  const { id, handle, isActive } = await standing(current, name);
  if (!isActive && current.layout === "log") {
    return `The text of \`${name}\` is not in the window, so that there is nothing to keep. Ask the model to pin it: it can bring it back.`;
  }
  const answered = await changed(current, "pin", handle ?? id);
  const { isPinned } = await standing(current, name);
  return isPinned ? `Pinned: \`${name}\` stays in the window until \`/context unpin ${name}\`.` : answered;
}

/** Does what the tool of that name does, as a person's command, which belongs to no call of the model. */
async function changed({ session, tools }: Shown, name: string, object: string): Promise<string> {
  const tool = tools.find((known) => known.name === name);
  const answered = await tool?.execute(session, "", { name: object });
  return answered?.content[0].text ?? `\`${name}\` is no tool`;
}

/** The parts that begin so; after a part, the names of objects. Pi puts the value in the place of all that was typed. */
async function completions(host: ContextHost, parts: Parts, typed: string) {
  const [, name, given] = /^\s*(\S+)\s+(.*)$/s.exec(typed) ?? [];
  const current = host.current();
  if (name === undefined) {
    const fitting = [...parts].filter(([known]) => known.startsWith(typed.trimStart()));
    const items = fitting.map(([known, part]) => ({ value: known, label: known, description: part.summary }));
    return items.length === 0 ? null : items;
  }
  if (current === undefined || !parts.get(name)?.usage.includes("NAME")) {
    return null;
  }
  const names = await nameItems(current, given).catch(() => []);
  const items = names.map(({ handle, description }) => ({ value: `${name} ${handle}`, label: handle, description }));
  return items.length === 0 ? null : items;
}

function help(parts: Parts): string {
  const lines = [...parts].map(([name, { usage, summary }]) => `/context ${`${name} ${usage}`.padEnd(18)} ${summary}`);
  return ["There are:", ...lines].join("\n");
}

function offText(off: Off | undefined): string {
  return off === undefined
    ? "Palimpsest is off in this session."
    : `Palimpsest is off in this session: ${off.why}\nTo turn it on: ${off.turnOn}`;
}

async function overview(host: ContextHost): Promise<string> {
  const current = host.current();
  if (current === undefined) {
    return offText(host.off());
  }
  const { session, notices, trouble } = current;
  const status = session.status();
  const all = [
    ...notices,
    ...status.silentPlaces.map((path) => `\`${path}\` does not answer`),
    ...(trouble.failed === undefined ? [] : [`the last call went out with Pi's own messages: ${trouble.failed}`]),
  ];
  const said = all.map((notice) => `notice    ${notice}`);
  try {
    return [contextReport(status, await session.ledger()), ...said].join("\n");
  } catch (error) {
    return [`Palimpsest: the ledger cannot be read: ${describe(error)}`, ...said].join("\n");
  }
}
