// The command `/context`: what it takes, what it answers, and where that is shown. Decides nothing about contexts.
import type { ExtensionCommandContext, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { continued } from "../lib/continue.js";
import {
  activated,
  type Changeable,
  contentText,
  deactivated,
  described,
  exported,
  historyText,
  named,
  nameItems,
  objectsText,
  pinned,
  unpinned,
  whyText,
} from "../lib/objects.js";
import { plainRequestOf } from "../lib/plain-request.js";
import { contextReport, type ShownSetting, settingsText, sharingSection } from "../lib/report.js";
import { name } from "../lib/terminal.js";
import type { Settings, SettingValue } from "./addon.ts";
import { adding, type Offered, setsWhileTyping } from "./completions.ts";
import { describe, tell } from "./failures.ts";
import { type Choices, choosable, chosen, isChoice, type Live, type Off } from "./live.ts";
import { modelInUse } from "./observe.ts";
import { showPanel } from "./panel.ts";
import type { Trouble } from "./words.ts";

/** An open session, as the command needs it. */
type Shown = Pick<Live, "session" | "store" | "cwd" | "choices" | "notices"> &
  Pick<Changeable, "tools"> & { readonly trouble: Trouble };

/** What the command acts on. */
export interface ContextHost {
  /** The open session; undefined where Palimpsest is off. */
  readonly current: Shown | undefined;
  /** Why it is off. */
  readonly off: Off | undefined;
  turnOff(ctx: ExtensionContext): Promise<void>;
  turnOn(ctx: ExtensionContext): Promise<void>;
  choose(ctx: ExtensionContext, choice: Partial<Choices>): Promise<void>;
  /** Shows the session in the browser; returns what the person is told. */
  inspect(ctx: ExtensionContext): Promise<string>;
  /** All settings with who set them. */
  settings(ctx: ExtensionContext): Promise<SettingValue[]>;
}

/** What a part completes: names of objects of the session, all or those in a set, or these words. */
type Completed = "all" | "active" | "pinned" | readonly string[];

/** A part of the command. */
interface Part {
  /** What it takes, as shown. */
  readonly usage: string;
  readonly summary: string;
  readonly completes?: Completed;
  /** Columns at the start of each line of its answer that hold the line's heading. */
  readonly indent?: number;
  /** Answers with a text. `given`: what was typed after the name of the part. */
  run(given: string, ctx: ExtensionCommandContext): Promise<string>;
}

/** By name. */
type Parts = ReadonlyMap<string, Part>;

/** Lines that stand in the transcript; more are shown in a panel. */
const maxLines = 3;

/** Runs the command. `args`: what was typed after it. */
export async function run(host: ContextHost, args: string, ctx: ExtensionCommandContext): Promise<void> {
  const parts = partsOf(host);
  const [, name = "", given = ""] = /^\s*(\S+)\s*(.*?)\s*$/s.exec(args) ?? [];
  const part = parts.get(name === "" ? "overview" : name);
  const text = await answer(parts, part, name, given, ctx).catch(describe);
  if (ctx.mode === "tui" && text.split("\n").length > maxLines) {
    await showPanel(ctx, `Palimpsest · /context ${args}`.trim(), text, part?.indent ?? helpIndent);
  } else {
    tell(ctx, text, "info");
  }
}

function partsOf(host: ContextHost): Parts {
  return new Map(Object.entries({ ...looksOf(host), ...changesOf(host) }));
}

async function answer(
  parts: Parts,
  part: Part | undefined,
  name: string,
  given: string,
  ctx: ExtensionCommandContext,
): Promise<string> {
  if (part === undefined) {
    return (name === "help" ? "" : `\`/context ${name}\` is not known. `) + help(parts);
  }
  const isMissing = given === "" && /^[A-Z]|\|/.test(part.usage);
  return isMissing ? `Which one? \`/context ${name} ${part.usage}\`` : part.run(given, ctx);
}

/** The parts that only look. */
function looksOf(host: ContextHost): Record<string, Part> {
  return {
    overview: {
      usage: "",
      summary: "what is in the window, what it costs and saves",
      indent: 10,
      run: (_given, ctx) => overview(host, ctx),
    },
    objects: {
      usage: "[FILTER]",
      summary: "list the files and outputs that the session met",
      indent: 22,
      run: (given) => opened(host, (current) => objectsText(current, given)),
    },
    show: {
      usage: "NAME",
      summary: "show the text of one, also an earlier version (`f3@-1`)",
      completes: "all",
      indent: 0,
      run: (given) => opened(host, (current) => contentText(current, given)),
    },
    history: {
      usage: "NAME",
      summary: "list the versions of one",
      completes: "all",
      indent: 8,
      run: (given) => opened(host, (current) => historyText(current, given)),
    },
    why: {
      usage: "[NAME]",
      summary: "how the last call showed it, and why",
      completes: "all",
      indent: 2,
      run: (given) => opened(host, (current) => whyText(current, given)),
    },
    open: {
      usage: "",
      summary: "see in the browser what the model saw, and what it cost",
      run: (_given, ctx) => host.inspect(ctx),
    },
    settings: {
      usage: "[FILTER]",
      summary: "list the settings, and who set them",
      indent: 23,
      run: async (given, ctx) => settingsText(shownSettings(await host.settings(ctx), ctx), given),
    },
  };
}

/** The parts that change something. */
function changesOf(host: ContextHost): Record<string, Part> {
  return {
    activate: {
      usage: "NAME [LINES] [/PATTERN/]",
      summary: "show its text to the model with the next message",
      completes: "all",
      run: (given) => opened(host, (current) => activated(current, given)),
    },
    deactivate: {
      usage: "NAME",
      summary: "let its text leave the window with the next epoch",
      completes: "active",
      run: (given) => opened(host, (current) => deactivated(current, given)),
    },
    pin: {
      usage: "NAME",
      summary: "keep its text in the window until it is unpinned",
      completes: "all",
      run: (given) => opened(host, (current) => pinned(current, given)),
    },
    unpin: {
      usage: "NAME",
      summary: "lift its pin; its text may then leave as any other does",
      completes: "pinned",
      run: (given) => opened(host, (current) => unpinned(current, given)),
    },
    name: {
      usage: "NAME NICKNAME",
      summary: "give it a nickname, which you and the model may use from then on",
      completes: "all",
      run: (given) => opened(host, (current) => named(current, given)),
    },
    describe: {
      usage: "NAME TEXT",
      summary: "say in a line what it is; the line stands behind it once its text has left",
      completes: "all",
      run: (given) => opened(host, (current) => described(current, given)),
    },
    layout: {
      usage: "log|pools",
      summary: "choose how content stands in the request, in this session",
      completes: choosable.layout,
      run: (given, ctx) => choose(host, ctx, "layout", given, ", which writes the request anew"),
    },
    thrift: {
      usage: "careful|balanced|thrifty",
      summary: "choose how much a need of what has left weighs against the saving, in this session",
      completes: choosable.thrift,
      run: (given, ctx) => choose(host, ctx, "thrift", given, ""),
    },
    continue: {
      usage: "NAME [STORE|ARCHIVE]",
      summary: "go on here with a session that another program or machine left",
      run: (given) => opened(host, (current) => continued(current, given)),
    },
    export: {
      usage: "[FILE] [--redact]",
      summary: "write an archive of the session",
      completes: ["--redact"],
      run: (given) => opened(host, (current) => exported(current, given)),
    },
    off: {
      usage: "",
      summary: "turn it off in this session",
      async run(_given, ctx) {
        if (host.current === undefined) {
          return offText(host.off);
        }
        const text = plainRequestOf("Pi", host.current.session.status(), modelInUse(ctx)?.contextWindow);
        await host.turnOff(ctx);
        const off =
          "Palimpsest is off in this session: the model gets Pi's own messages. `/context on` turns it on again.";
        return text === undefined ? off : `${off}\n${text}`;
      },
    },
    on: {
      usage: "",
      summary: "turn it on in this session",
      async run(_given, ctx) {
        if (host.current !== undefined) {
          return "Palimpsest is on in this session.";
        }
        await host.turnOn(ctx);
        return host.current === undefined ? offText(host.off) : "Palimpsest is on again in this session.";
      },
    },
  };
}

/** The settings, with what the person chose in the session. */
function shownSettings(values: readonly SettingValue[], ctx: ExtensionCommandContext): ShownSetting[] {
  const choices: Partial<Settings> = chosen(ctx);
  return values.map((setting) => {
    const value = choices[setting.key as keyof Choices];
    const key = setting.key === "faultTokens" ? "thrift" : setting.key;
    return value === undefined ? setting : { ...setting, value, source: "session", place: `/context ${key}` };
  });
}

/** What is answered in an open session; else why there is none. */
async function opened(host: ContextHost, answer: (current: Shown & Changeable) => Promise<string>): Promise<string> {
  const current = host.current;
  return current === undefined
    ? offText(host.off)
    : answer({ ...current, ...current.choices, host: "Pi", command: "/context" });
}

/** Chooses the value of a setting in this session. `besides`: what else its change does. */
async function choose(
  host: ContextHost,
  ctx: ExtensionCommandContext,
  key: keyof typeof choosable,
  given: string,
  besides: string,
): Promise<string> {
  if (!isChoice(key, given)) {
    const known = choosable[key].map((value) => `\`${value}\``).join(", ");
    return `\`${given}\` is not a ${key}. Choose one of these: ${known}`;
  }
  if (host.current === undefined) {
    return offText(host.off);
  }
  const { choices } = host.current;
  if (choices[key] === given && !(key === "thrift" && choices.faultTokens > 0)) {
    return `The ${key} is \`${given}\` already.`;
  }
  await host.choose(ctx, { [key]: given });
  return host.current?.choices[key] === given
    ? `The ${key} is \`${given}\` in this session from the next call on${besides}.`
    : offText(host.off);
}

/** The parts that begin so; after a part, what it completes. */
export async function completions(host: ContextHost, typed: string): Promise<Offered[] | null> {
  const parts = partsOf(host);
  const [, name, given] = /^\s*(\S+)\s+(.*)$/s.exec(typed) ?? [];
  if (name === undefined) {
    const fitting = [...parts].filter(([known]) => known.startsWith(typed.trimStart()));
    return adding(
      typed,
      fitting.map(([known, part]) => ({ value: known, label: known, description: part.summary })),
    );
  }
  const current = host.current;
  const completes = parts.get(name)?.completes;
  if (current === undefined || completes === undefined) {
    return null;
  }
  const names =
    typeof completes === "string"
      ? await setsWhileTyping(current.session, given === "").then(
          (sets) => nameItems(current.cwd, sets, given, completes),
          () => [],
        )
      : completes.filter((word) => word.startsWith(given)).map((word) => ({ name: word, description: undefined }));
  return adding(
    typed,
    names.map(({ name: label, description }) => ({ value: `${name} ${label}`, label, description })),
  );
}

/** Columns of the names in the list of the parts. */
const helpIndent = 36;

function help(parts: Parts): string {
  const lines = [...parts].map(
    ([name, { usage, summary }]) => `${`${name} ${usage}`.padEnd(helpIndent - 1)} ${summary}`,
  );
  return ["`/context` takes:", ...lines].join("\n");
}

function offText(off: Off | undefined): string {
  return off === undefined
    ? "Palimpsest is off in this session."
    : `Palimpsest is off in this session: ${off.why}\nTo turn it on: ${off.turnOn}`;
}

async function overview(host: ContextHost, ctx: ExtensionCommandContext): Promise<string> {
  const current = host.current;
  if (current === undefined) {
    return offText(host.off);
  }
  const { session, store, choices, notices, trouble } = current;
  const status = session.status();
  const all = [
    ...notices,
    ...status.silentPlaces.map((path) => `\`${name(path)}\` does not answer`),
    ...(trouble.failed === undefined ? [] : [`the last call went out with Pi's own messages: ${trouble.failed}`]),
  ];
  const said = all.map((notice) => `notice    ${notice}`);
  try {
    // A store that does not hold all of the last call says so where that is asked for.
    const kinds = await store.recordedCall(session.id).then(
      (call) => call.kinds,
      () => undefined,
    );
    const window = { host: "Pi", contextWindow: modelInUse(ctx)?.contextWindow, ...choices, kinds };
    const shared = await sharingSection(session);
    return [contextReport(status, await session.ledger(), window), ...shared, ...said].join("\n");
  } catch (error) {
    return [`Palimpsest: the ledger cannot be read: ${describe(error)}`, ...said].join("\n");
  }
}
