// The command `/context`: what it takes, and what it shows. Decides nothing about contexts.
import type { ExtensionCommandContext, RegisteredCommand } from "@earendil-works/pi-coding-agent";
import { describe, tell } from "./failures.ts";
import type { Live } from "./live.ts";
import { contextReport } from "./report.ts";
import type { Trouble } from "./status.ts";
import type { Off } from "./switch.ts";

/** An open session, as the command needs it. */
type Shown = Pick<Live, "session" | "store" | "notices"> & { readonly trouble: Trouble };

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
  /** Answers with a text. `given`: what was typed after the name of the part. */
  run(given: string, ctx: ExtensionCommandContext): Promise<string>;
}

/** Makes the command. */
export function contextCommand(host: ContextHost): Omit<RegisteredCommand, "name" | "sourceInfo"> {
  const parts = partsOf(host);
  return {
    description: "Show what Palimpsest does in this session and what it saves, or turn it off and on",
    getArgumentCompletions: (typed) => completions(parts, typed),
    async handler(args, ctx) {
      const [name, ...rest] = args.trim().split(/\s+/);
      const part = parts[name === "" ? "overview" : name];
      const given = rest.join(" ");
      const text = part === undefined ? unknown(parts, name) : await part.run(given, ctx).catch(describe);
      tell(ctx, text, "info");
    },
  };
}

function partsOf(host: ContextHost): Record<string, Part | undefined> {
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
  };
}

function completions(parts: Record<string, Part | undefined>, typed: string) {
  const fitting = Object.entries(parts).filter(([name]) => name.startsWith(typed.trimStart()));
  const items = fitting.map(([name, part]) => ({ value: name, label: name, description: part?.summary }));
  return items.length === 0 ? null : items;
}

function unknown(parts: Record<string, Part | undefined>, name: string): string {
  const lines = Object.entries(parts).map(
    ([known, part]) => `/context ${`${known} ${part?.usage ?? ""}`.trimEnd().padEnd(22)} ${part?.summary ?? ""}`,
  );
  return [`\`/context ${name}\` is not known. There are:`, ...lines].join("\n");
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
