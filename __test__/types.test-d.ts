// What `index.d.ts` promises to TypeScript, checked by tsc (`npm run lint`, `npm test`); nothing here runs.
import { expectTypeOf } from "vitest";
import {
  type CallInfo,
  type ContextTool,
  countTokens,
  createActivateTool,
  createDeactivateTool,
  createPinTool,
  createReadTool,
  createUnpinTool,
  loadSettings,
  type Message,
  openSession,
  openStore,
  type PalimpsestError,
  type Session,
  type SessionEvent,
  type SessionOptions,
  type SessionStatus,
  type Settings,
  type SettingsPlaces,
  type Store,
  type StoreOptions,
  type TextBlock,
  type ToolFinishedEvent,
  type ToolResult,
  type ToolSchema,
} from "../index.js";

// Functions.
expectTypeOf(openStore).parameters.toEqualTypeOf<[options?: StoreOptions | undefined | null]>();
expectTypeOf(openStore).returns.resolves.toEqualTypeOf<Store>();
expectTypeOf(openSession).parameters.toEqualTypeOf<[store: Store, options: SessionOptions]>();
expectTypeOf(openSession).returns.resolves.toEqualTypeOf<Session>();
expectTypeOf(loadSettings).parameters.toEqualTypeOf<[places: SettingsPlaces]>();
expectTypeOf(loadSettings).returns.resolves.toEqualTypeOf<Settings>();
expectTypeOf(countTokens).parameters.toEqualTypeOf<[text: string]>();
expectTypeOf(countTokens).returns.resolves.toBeNumber();
for (const factory of [createReadTool, createActivateTool, createDeactivateTool, createPinTool, createUnpinTool]) {
  expectTypeOf(factory).toEqualTypeOf<() => ContextTool>();
}

// A store.
expectTypeOf<Pick<Store, "id" | "path" | "notice">>().toEqualTypeOf<{
  readonly id: string;
  readonly path: string;
  readonly notice: string | null;
}>();
expectTypeOf<Store["close"]>().toEqualTypeOf<() => Promise<void>>();

// A session; what crosses to Rust is no part of it.
expectTypeOf<keyof Session>().toEqualTypeOf<
  "transformContext" | "onEvent" | "toolFinished" | "refusedWrite" | "reportFailedCall" | "status" | "close"
>();
expectTypeOf<Session["transformContext"]>().toEqualTypeOf<
  (messages: Message[], call?: CallInfo) => Promise<Message[]>
>();
expectTypeOf<Session["onEvent"]>().toEqualTypeOf<(listener: (event: SessionEvent) => void) => void>();
expectTypeOf<Session["toolFinished"]>().toEqualTypeOf<(event: ToolFinishedEvent) => Promise<void>>();
expectTypeOf<Session["refusedWrite"]>().toEqualTypeOf<(toolName: string, args: unknown) => Promise<string | null>>();
expectTypeOf<Session["reportFailedCall"]>().toEqualTypeOf<(reason: string) => void>();
expectTypeOf<Session["status"]>().toEqualTypeOf<() => SessionStatus>();
expectTypeOf<Session["close"]>().toEqualTypeOf<() => Promise<void>>();
expectTypeOf<SessionOptions>().toEqualTypeOf<{
  harness: string;
  sessionId: string;
  cwd: string;
  settings?: Partial<Settings>;
  parentSessionId?: string;
}>();
expectTypeOf<SessionStatus[keyof SessionStatus]>().toBeNumber();

// Events are told apart by their type.
expectTypeOf<SessionEvent["type"]>().toEqualTypeOf<
  "epoch_started" | "file_changed" | "host_rewrote" | "message_volatile"
>();
expectTypeOf<Extract<SessionEvent, { type: "file_changed" }>>().toEqualTypeOf<{
  type: "file_changed";
  handle: string;
  path: string;
  added: number;
  removed: number;
}>();

// Messages are open: a host's own fields pass through.
expectTypeOf<{ role: "custom"; details: { any: "thing" } }>().toExtend<Message>();
expectTypeOf<Message["content"]>().toBeUnknown();

// Tools.
expectTypeOf<Pick<ContextTool, "name" | "description" | "promptSnippet" | "parameters">>().toEqualTypeOf<{
  readonly name: string;
  readonly description: string;
  readonly promptSnippet: string;
  readonly parameters: ToolSchema;
}>();
expectTypeOf<ContextTool["execute"]>().toEqualTypeOf<
  (session: Session, toolCallId: string, args: unknown) => Promise<ToolResult>
>();
expectTypeOf<ToolResult>().toEqualTypeOf<{ content: Array<TextBlock> }>();
expectTypeOf<TextBlock>().toEqualTypeOf<{ type: "text"; text: string }>();

// Settings and errors.
expectTypeOf<Settings["layout"]>().toEqualTypeOf<"log" | "pools">();
expectTypeOf<StoreOptions["settings"]>().toEqualTypeOf<Partial<Settings> | undefined>();
expectTypeOf<PalimpsestError>().toExtend<Error>();
expectTypeOf<Pick<PalimpsestError, "code" | "hint" | "report">>().toEqualTypeOf<{
  code: string;
  hint?: string;
  report?: string;
}>();
