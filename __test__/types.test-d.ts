// What `index.d.ts` promises to TypeScript, checked by tsc (`npm run lint`, `npm test`); nothing here runs.
import { expectTypeOf } from "vitest";
import type * as addon from "../index.js";
import {
  type AssistantMessage,
  type CallInfo,
  type ContentOptions,
  type ContextTool,
  countTokens,
  type Difference,
  type DiffOptions,
  type FieldChange,
  type ImageBlock,
  type IndexOptions,
  type IndexReport,
  type ItemContent,
  type ItemsOptions,
  type Ledger,
  type LedgerFaults,
  type ListOptions,
  loadSettings,
  type Maintenance,
  type Message,
  type MigrationPlace,
  type MigrationReport,
  migrate,
  type NameOptions,
  type ObjectType,
  type OtherBlock,
  openSession,
  openStore,
  type PalimpsestError,
  type PullReport,
  type PushReport,
  type PutOptions,
  type PutResult,
  type QueryOptions,
  type ReadOptions,
  type Reference,
  type SearchOptions,
  type SearchResults,
  type Session,
  type SessionEvent,
  type SessionInfo,
  type SessionOptions,
  type SessionSets,
  type SessionStatus,
  type SessionsOptions,
  type Settings,
  type SettingsPlaces,
  type SharedServer,
  type SharedSession,
  type SharedStore,
  type SharedStoreOptions,
  type SharingMachine,
  type SharingProgress,
  type SharingStatus,
  type Source,
  type Store,
  type StoreOptions,
  type StoreStats,
  storePath,
  type TextBlock,
  type ThinkingBlock,
  type ToolCallBlock,
  type ToolCallReport,
  type ToolResult,
  type ToolResultMessage,
  type ToolSchema,
  tools,
  type UsageReport,
  type UserMessage,
  type Version,
} from "../index.js";
import type * as lib from "../lib/session.js";
import type { tools as libTools } from "../lib/tools.js";

type LibSession = InstanceType<typeof lib.Session>;

// What is declared is what is there (see `addon.spec.ts`): nothing of the bindings shows beside the class that wraps it.
expectTypeOf<keyof typeof addon>().toEqualTypeOf<
  | "Maintenance"
  | "Memory"
  | "Session"
  | "SharedStore"
  | "Store"
  | "Tracking"
  | "__napiBindingTarget"
  | "checkSettings"
  | "countTokens"
  | "doctor"
  | "documentWithoutSecrets"
  | "findSessions"
  | "learnHazards"
  | "loadSettings"
  | "migrate"
  | "openMemory"
  | "openSession"
  | "openStore"
  | "pricePresets"
  | "projectTrust"
  | "removeTemporary"
  | "replayFile"
  | "replayReport"
  | "setAside"
  | "settingProblems"
  | "settingValues"
  | "storePath"
  | "tools"
  | "trustProject"
  | "trustedProjects"
  | "withoutSecrets"
  | "writePrivate"
>();

// Functions.
expectTypeOf(openStore).parameters.toEqualTypeOf<[options?: StoreOptions | undefined | null]>();
expectTypeOf(openStore).returns.resolves.toEqualTypeOf<Store>();
expectTypeOf(storePath).parameters.toEqualTypeOf<[options?: StoreOptions | undefined | null]>();
expectTypeOf(storePath).returns.resolves.toEqualTypeOf<string>();
type OnProgress = (progress: SharingProgress) => void;
expectTypeOf<Store["shared"]>().toEqualTypeOf<
  (options?: SharedStoreOptions | undefined | null) => Promise<SharedStore>
>();
expectTypeOf<SharedStore["status"]>().toEqualTypeOf<() => Promise<SharingStatus>>();
expectTypeOf<SharedStore["look"]>().toEqualTypeOf<() => Promise<SharingStatus>>();
expectTypeOf<SharedStore["server"]>().toEqualTypeOf<() => Promise<SharedServer>>();
expectTypeOf<SharedStore["push"]>().toEqualTypeOf<(onProgress?: OnProgress) => Promise<PushReport>>();
expectTypeOf<SharedStore["pull"]>().toEqualTypeOf<(onProgress?: OnProgress) => Promise<PullReport>>();
expectTypeOf<SharedStore["pushSession"]>().toEqualTypeOf<(name: string) => Promise<PushReport>>();
expectTypeOf<SharedStore["pullSession"]>().toEqualTypeOf<(name: string) => Promise<PullReport>>();
expectTypeOf<SharedStore["machines"]>().toEqualTypeOf<() => Promise<SharingMachine[]>>();
expectTypeOf<SharedStore["sessions"]>().toEqualTypeOf<() => Promise<SharedSession[]>>();
expectTypeOf(migrate).toEqualTypeOf<
  (from: MigrationPlace, to: MigrationPlace, onProgress?: OnProgress) => Promise<MigrationReport>
>();
expectTypeOf<Session["sharing"]>().toEqualTypeOf<() => Promise<SharingStatus | null>>();
expectTypeOf(openSession).parameters.toEqualTypeOf<[store: Store, options: SessionOptions]>();
expectTypeOf(openSession).returns.resolves.toEqualTypeOf<Session>();
expectTypeOf(loadSettings).parameters.toEqualTypeOf<[places: SettingsPlaces]>();
expectTypeOf(loadSettings).returns.resolves.toEqualTypeOf<Settings>();
expectTypeOf(countTokens).parameters.toEqualTypeOf<[text: string]>();
expectTypeOf(countTokens).returns.resolves.toBeNumber();
expectTypeOf(tools).toEqualTypeOf<(options?: { read?: boolean }) => ContextTool[]>();

// A store.
expectTypeOf<Pick<Store, "id" | "path" | "notice">>().toEqualTypeOf<{
  readonly id: string;
  readonly path: string;
  readonly notice: string | null;
}>();
expectTypeOf<Store["close"]>().toEqualTypeOf<() => Promise<void>>();
expectTypeOf<Store["put"]>().toEqualTypeOf<(version: PutOptions) => Promise<PutResult>>();
expectTypeOf<Store["get"]>().toEqualTypeOf<(name: string, options?: ReadOptions) => Promise<Version>>();
expectTypeOf<Store["content"]>().toEqualTypeOf<(name: string, options?: ContentOptions) => Promise<string | null>>();
expectTypeOf<Store["items"]>().toEqualTypeOf<(name: string, options?: ItemsOptions) => Promise<string[]>>();
expectTypeOf<Store["history"]>().toEqualTypeOf<(name: string, options?: NameOptions) => Promise<Version[]>>();
expectTypeOf<Store["diff"]>().toEqualTypeOf<(name: string, options?: DiffOptions) => Promise<Difference>>();
expectTypeOf<Store["find"]>().toEqualTypeOf<(name: string, options?: NameOptions) => Promise<string>>();
expectTypeOf<Store["name"]>().toEqualTypeOf<
  (name: string, nickname: string, options?: NameOptions) => Promise<string>
>();
expectTypeOf<Store["unname"]>().toEqualTypeOf<(nickname: string) => Promise<string>>();
expectTypeOf<Store["resolve"]>().toEqualTypeOf<(reference: Reference | ItemContent) => Promise<Version>>();
expectTypeOf<Store["list"]>().toEqualTypeOf<(type: ObjectType, options?: ListOptions) => Promise<Version[]>>();
expectTypeOf<Store["query"]>().toEqualTypeOf<(query: string, options?: QueryOptions) => Promise<Version[]>>();
expectTypeOf<Store["search"]>().toEqualTypeOf<(text: string, options?: SearchOptions) => Promise<SearchResults>>();
expectTypeOf<SearchResults["hits"][number]["lines"][number]["matches"]>().toEqualTypeOf<
  [start: number, end: number][]
>();
expectTypeOf<Store["sessions"]>().toEqualTypeOf<
  (options?: SessionsOptions | undefined | null) => Promise<SessionInfo[]>
>();
expectTypeOf<Store["maintenance"]>().toEqualTypeOf<Maintenance>();
expectTypeOf<Maintenance["stats"]>().toEqualTypeOf<() => Promise<StoreStats>>();
expectTypeOf<Store["index"]>().toEqualTypeOf<
  (paths: string[], options?: IndexOptions, onProgress?: (files: number) => void) => Promise<IndexReport>
>();

// Versions: null where there is nothing, fields open, the reference in the form of documents.
expectTypeOf<Version["type"]>().toEqualTypeOf<ObjectType>();
expectTypeOf<Version["source"]>().toEqualTypeOf<Source | null>();
expectTypeOf<Version["content"]>().toEqualTypeOf<string | null>();
expectTypeOf<Version["fields"]>().toEqualTypeOf<Record<string, unknown>>();
expectTypeOf<Version["additional"]>().toEqualTypeOf<Record<string, string>>();
expectTypeOf<Version["redacted"]>().toEqualTypeOf<"secret" | "forgotten" | null>();
expectTypeOf<Version["reference"]>().toExtend<Reference>();
expectTypeOf<ReadOptions["at"]>().toEqualTypeOf<number | string | undefined>();
expectTypeOf<PutOptions["content"]>().toEqualTypeOf<string | null | undefined>();
expectTypeOf<Difference["fields"]>().toEqualTypeOf<FieldChange[]>();
expectTypeOf<SessionInfo["origin"]>().toEqualTypeOf<"forked" | "parted" | null>();
expectTypeOf<IndexReport["files"][number]["outcome"]>().toEqualTypeOf<
  "created" | "updated" | "unchanged" | "deleted"
>();

// A session; what crosses to Rust is not a part of it.
expectTypeOf<keyof Session>().toEqualTypeOf<
  | "id"
  | "find"
  | "tools"
  | "transformContext"
  | "answerCompaction"
  | "preparePayload"
  | "memorySection"
  | "memoryChanged"
  | "leavePool"
  | "met"
  | "enterPool"
  | "recordToolCall"
  | "showResult"
  | "commitTurn"
  | "continueFrom"
  | "recordUsage"
  | "recordFailedCall"
  | "checkWrite"
  | "explainFailedEdit"
  | "onEvent"
  | "status"
  | "sets"
  | "sharing"
  | "ledger"
  | "mountNotices"
  | "close"
>();
expectTypeOf<Session["transformContext"]>().toEqualTypeOf<
  <M extends { role: string } = Message>(messages: readonly M[], call?: CallInfo) => Promise<(M | Message)[]>
>();
expectTypeOf<Session["preparePayload"]>().toEqualTypeOf<<T>(payload: T) => Promise<T>>();
expectTypeOf<Session["onEvent"]>().toEqualTypeOf<(listener: (event: SessionEvent) => void) => () => void>();
expectTypeOf<Session["recordToolCall"]>().toEqualTypeOf<(call: ToolCallReport) => Promise<void>>();
expectTypeOf<Session["explainFailedEdit"]>().toEqualTypeOf<(args: unknown) => Promise<string | null>>();
expectTypeOf<Session["checkWrite"]>().toEqualTypeOf<(toolName: string, args: unknown) => Promise<string | null>>();
expectTypeOf<Session["recordFailedCall"]>().toEqualTypeOf<(reason: string) => void>();
expectTypeOf<Session["sets"]>().toEqualTypeOf<() => Promise<SessionSets>>();
expectTypeOf<Session["status"]>().toEqualTypeOf<() => SessionStatus>();
expectTypeOf<Session["recordUsage"]>().toEqualTypeOf<(report: UsageReport) => Promise<void>>();
expectTypeOf<Session["ledger"]>().toEqualTypeOf<() => Promise<Ledger>>();
expectTypeOf<Session["tools"]>().toEqualTypeOf<(taken?: readonly string[]) => Promise<ContextTool[]>>();
expectTypeOf<Session["close"]>().toEqualTypeOf<() => Promise<void>>();
expectTypeOf<SessionOptions>().toEqualTypeOf<{
  harness: string;
  sessionId: string;
  cwd: string;
  settings?: Partial<Settings>;
  parentSessionId?: string;
  images?: boolean;
  confined?: boolean;
  asksToCompact?: boolean;
}>();
expectTypeOf<SessionStatus[keyof SessionStatus]>().toEqualTypeOf<number | string[] | LedgerFaults | null>();

// Events are told apart by their type.
expectTypeOf<SessionEvent["type"]>().toEqualTypeOf<
  | "epoch_started"
  | "window_exceeded"
  | "pin_left_out"
  | "pin_ended"
  | "usage_ignored"
  | "file_changed"
  | "file_moved"
  | "file_orphaned"
  | "file_resumed"
  | "checking_files"
  | "files_polled"
  | "tracking_failed"
  | "disk_silent"
  | "disk_answers"
  | "host_rewrote"
  | "list_changes"
  | "session_split"
  | "message_volatile"
  | "model_told"
>();
expectTypeOf<Extract<SessionEvent, { type: "file_changed" }>>().toEqualTypeOf<{
  type: "file_changed";
  handle: string;
  path: string;
  added: number;
  removed: number;
}>();

// Known messages have typed blocks; others, and a host's own fields, pass through.
expectTypeOf<UserMessage["content"]>().toEqualTypeOf<string | (TextBlock | ImageBlock | OtherBlock)[]>();
expectTypeOf<AssistantMessage["content"]>().toEqualTypeOf<
  string | (TextBlock | ThinkingBlock | ToolCallBlock | OtherBlock)[]
>();
expectTypeOf<ToolResultMessage["content"]>().toEqualTypeOf<UserMessage["content"]>();
expectTypeOf<{ role: "toolResult"; toolCallId: "c"; content: "text" }>().toExtend<ToolResultMessage>();
expectTypeOf<{ role: "custom"; details: { any: "thing" } }>().toExtend<Message>();

// Tools.
expectTypeOf<Omit<ContextTool, "execute">>().toEqualTypeOf<{
  name: string;
  description: string;
  promptSnippet?: string;
  promptGuidelines: string[];
  parameters: ToolSchema;
}>();
expectTypeOf<ContextTool["execute"]>().toEqualTypeOf<
  (session: Session, toolCallId: string, args: unknown) => Promise<ToolResult>
>();
expectTypeOf<ToolResult>().toEqualTypeOf<{ content: [TextBlock, ...ImageBlock[]]; tokens: number }>();
expectTypeOf<TextBlock>().toEqualTypeOf<{ type: "text"; text: string }>();

// Settings and errors.
expectTypeOf<Settings["layout"]>().toEqualTypeOf<"log" | "pools">();
expectTypeOf<StoreOptions["settings"]>().toEqualTypeOf<Partial<Settings> | undefined>();
expectTypeOf<PalimpsestError>().toExtend<Error>();
expectTypeOf<Pick<PalimpsestError, "code" | "hint" | "candidates" | "failure" | "report">>().toEqualTypeOf<{
  code: string;
  hint?: string;
  candidates?: string[];
  failure?: boolean;
  report?: string;
}>();

// The class in `lib` is the one that `index.d.ts` declares.
expectTypeOf<LibSession>().toExtend<Session>();
expectTypeOf<keyof LibSession>().toEqualTypeOf<keyof Session>();
expectTypeOf<typeof lib.openSession>().toEqualTypeOf<typeof openSession>();
expectTypeOf<typeof libTools>().toEqualTypeOf<typeof tools>();

// A name that `index.d.ts` does not import is `any` here, and an error where a program checks the types of its packages.
expectTypeOf<Awaited<ReturnType<Session["met"]>>>().not.toBeAny();
expectTypeOf<Awaited<ReturnType<Session["find"]>>>().not.toBeAny();
