// Our tools in Pi: registered for the model, and what the terminal shows of us in the transcript, drawn with Pi's own components and
// theme: a line for each of their calls, and a dim line for what the model is told besides. Tools of Pi and of other extensions are only
// observed (observe.ts), never replaced: a tool that runs in a sandbox must not give way to one that runs here.
import type { AgentToolResult, ExtensionAPI, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, Container, Text, TruncatedText } from "@earendil-works/pi-tui";
import type { TSchema } from "typebox";
import { describe, isFailure, unavailable } from "../lib/failures.js";
import { prefixedNames, toolNames } from "../lib/tool-names.js";
import { cameWith, oneLine, plainLines } from "../lib/words.js";
import type { ContextTool, Session } from "./addon.ts";

/** All names that our tools have in some session: a transcript is drawn before it is known in which. */
const ours = new Set([...toolNames, ...prefixedNames]);

/** Characters of a name that a line shows. */
const maxName = 80;
/** Characters of what came that a line shows. */
const maxCame = 160;

/**
 * Registers the context tools. `session` returns the open session at the time of a call. `failed` gets what the model can do nothing
 * about: a person has to know.
 */
export function registerContextTools(
  pi: ExtensionAPI,
  tools: ContextTool[],
  session: () => Session | undefined,
  failed: (what: string, error: unknown) => Promise<void>,
): void {
  for (const tool of tools) {
    const definition = {
      name: tool.name,
      label: tool.name,
      description: tool.description,
      promptSnippet: tool.promptSnippet,
      promptGuidelines: tool.promptGuidelines,
      parameters: tool.parameters as TSchema,
      // Pi 1.5 lets scripts call tools, but such calls are not in the transcript. Earlier versions ignore this field.
      exposure: "model-only" as const,
      ...toolRow(tool.name),
      async execute(toolCallId: string, params: unknown) {
        const open = session();
        if (open === undefined) {
          throw new Error("Palimpsest is off in this session");
        }
        const result = await tool.execute(open, toolCallId, params).catch(async (error: unknown) => {
          if (isFailure(error)) {
            await failed(`\`${tool.name}\` did not work`, error);
            throw new Error(unavailable(tool.name), { cause: error });
          }
          // Pi shows the model only the message of an error.
          throw new Error(describe(error), { cause: error });
        });
        return { content: result.content, details: { tokens: result.tokens } satisfies RowDetails };
      },
    };
    pi.registerTool(definition);
  }
}

/** Names of the tools that Pi has besides ours, which say what ours say whatever they are called. */
export function foreignTools(pi: ExtensionAPI, tools: readonly ContextTool[]): string[] {
  const descriptions = new Set(tools.map(({ description }) => description));
  const others = pi.getAllTools().filter(({ description }) => !descriptions.has(description));
  return others.map(({ name }) => name);
}

/** What a result of our tools keeps in Pi's session file for its line. */
export interface RowDetails {
  readonly tokens: number;
}

/** What the result of another tool keeps there: characters at its end that are ours. */
export interface HelpDetails {
  readonly palimpsest?: { readonly help?: unknown };
}

/** What our rows use of Pi's context for drawing. */
interface RowContext {
  args: unknown;
  state: { call?: Text; inner?: Component };
  lastComponent: Component | undefined;
  isError: boolean;
  /** Pi 1.5; earlier versions have one column. */
  outputPad?: number;
}

type Result = Pick<AgentToolResult<unknown>, "content" | "details">;

/** Draws the calls of one of our tools. */
function toolRow(tool: string) {
  return {
    renderCall(args: unknown, theme: Theme, context: RowContext): Component {
      const text = (context.lastComponent as Text | undefined) ?? new Text("", 0, 0);
      context.state.call = text;
      text.setText(`${called(tool, args, theme)}${picked(args, ["lines", "pattern"], theme)}`);
      return text;
    },
    renderResult(result: Result, options: { expanded: boolean }, theme: Theme, context: RowContext): Component {
      const body = (context.lastComponent as Text | undefined) ?? new Text("", 0, 0);
      const text = textOf(result);
      if (context.isError) {
        body.setText(theme.fg("error", plainLines(text)));
        return body;
      }
      const came = theme.fg("muted", ` · ${cameWith(nameOf(context.args), result)}`);
      // What came names its lines.
      context.state.call?.setText(called(tool, context.args, theme) + picked(context.args, ["pattern"], theme) + came);
      // One line is all in the row.
      body.setText(options.expanded && text.includes("\n") ? `\n${theme.fg("toolOutput", plainLines(text))}` : "");
      return body;
    },
  };
}

/** `activate t17` */
function called(tool: string, args: unknown, theme: Theme): string {
  return `${theme.fg("toolTitle", theme.bold(tool))} ${theme.fg("accent", nameOf(args))}`;
}

/** What was asked for of it: ` lines 40-80 /error/`. */
function picked(args: unknown, which: ("lines" | "pattern")[], theme: Theme): string {
  const given = (args ?? {}) as { lines?: unknown; pattern?: unknown };
  const words = which.map((key) => {
    const value = given[key];
    if (typeof value !== "string" || value.trim() === "") {
      return "";
    }
    return ` ${oneLine(key === "lines" ? `lines ${value}` : `/${value}/`, maxName)}`;
  });
  return theme.fg("warning", words.join(""));
}

function nameOf(args: unknown): string {
  const { name } = (args ?? {}) as { name?: unknown };
  return typeof name === "string" && name !== "" ? oneLine(name, maxName) : "…";
}

const noteType = "palimpsest-note";

/** Shows in the transcript, also when it is resumed, what the model was told of files: the first line of each note. */
export function showTold(pi: ExtensionAPI, lines: readonly string[]): void {
  pi.appendEntry(noteType, { lines });
}

/** Tells Pi how to draw what we show besides our tools. */
export function registerRows(pi: ExtensionAPI): void {
  pi.registerEntryRenderer<{ lines?: unknown }>(noteType, ({ data }, { expanded }, theme) => {
    const lines = Array.isArray(data?.lines) ? data.lines.map(String) : [];
    return lines.length === 0 ? undefined : told(lines, lines.join("\n"), expanded, theme, 1);
  });
  // Pi 1.5. Earlier ones cannot be told how to draw another's tool, and show what we add to a failed `edit` as part of its error.
  const { registerToolRenderer } = pi as Partial<RendererRegistry>;
  registerToolRenderer?.call(pi, (tool, next) => {
    if (tool === "edit") {
      return withHelp(next());
    }
    // It draws a transcript before the session starts for which they are registered.
    return ours.has(tool) ? (next() ?? toolRow(tool)) : next();
  });
}

/** What Pi 1.5 has besides. */
interface RendererRegistry {
  registerToolRenderer(resolver: (tool: string, next: () => Renderers | undefined) => Renderers | undefined): void;
}

interface Renderers {
  renderCall?(args: unknown, theme: Theme, context: RowContext): Component;
  renderResult?(result: Result, options: { expanded: boolean }, theme: Theme, context: RowContext): Component;
}

/** Draws the help that the model got with an error as one dim line below it. */
function withHelp(base: Renderers | undefined): Renderers | undefined {
  const draw = base?.renderResult;
  if (draw === undefined) {
    return base;
  }
  return {
    ...base,
    renderResult(result, options, theme, context) {
      const { own, help } = withoutHelp(result);
      if (help === "" || !context.isError) {
        return draw(result, options, theme, context);
      }
      const inner = draw(own, options, theme, { ...context, lastComponent: context.state.inner });
      context.state.inner = inner;
      const [first] = help.split("\n", 1);
      const shell = new Container();
      shell.addChild(inner);
      shell.addChild(told([first.replace(/:$/, "")], help, options.expanded, theme, context.outputPad ?? 1));
      return shell;
    },
  };
}

/** The result as the tool gave it, and the help at the end of its text. */
function withoutHelp(result: Result): { own: Result; help: string } {
  const length = (result.details as HelpDetails | undefined)?.palimpsest?.help;
  const last = result.content.at(-1);
  if (typeof length !== "number" || last?.type !== "text" || length > last.text.length) {
    return { own: result, help: "" };
  }
  const end = last.text.length - length;
  const text = last.text.slice(0, end).trimEnd();
  return {
    own: { ...result, content: [...result.content.slice(0, -1), { ...last, text }] },
    help: last.text.slice(end),
  };
}

/** `the model was told: …`, in one line; all of it where the transcript is expanded. */
function told(lines: string[], all: string, expanded: boolean, theme: Theme, pad: number): Component {
  if (expanded) {
    return new Text(theme.fg("dim", plainLines(`the model was told:\n${all}`)), pad, 0);
  }
  const more = lines.length === 1 ? "" : ` and ${lines.length - 1} more`;
  return new TruncatedText(theme.fg("dim", `the model was told: ${oneLine(lines[0], maxCame)}${more}`), pad, 0);
}

function textOf({ content }: Result): string {
  return content
    .map((block) => (block.type === "text" ? block.text : ""))
    .join("\n")
    .trimEnd();
}
