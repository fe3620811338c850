// What the inspector's page asks and is answered, over HTTP (`server/`) or from a page that carries its data (`page/carried.js`). Every answer
// is JSON. Types of `index.d.ts` cross as they are; what is here is made of them by `server/answers.js` and decides nothing. Addresses
// count from the page's own: `api/about`, without a slash before it.
import type {
  CallChange,
  Ledger,
  MessageAbout,
  ObjectLink,
  PromptChange,
  RecordedCall,
  ReplayedFile,
  ReplayReport,
  SearchResults,
  SessionBill,
  SessionInfo,
  StalePage,
  Timeline,
  Version,
} from "../index.js";

/** What the page is about. `GET /api/about`. */
export interface About {
  /** Version of the package. */
  version: string;
  /** Path of the store; null in a page that carries its data. */
  store: string | null;
  /** ID of the store: what has another was written elsewhere. */
  storeId: string;
  /** ID of the session that was asked for, `session:...`; null for the list. */
  session: string | null;
  /** Whether secrets were taken out. */
  redacted: boolean;
}

/** `GET /api/sessions`: the one written last first. */
export type Sessions = SessionInfo[];

/** `GET /api/bills?session=ID&session=ID…`, at most 50: by ID; an error's text where one cannot be read. */
export type Bills = { [id: string]: SessionBill | { error: Failure } };

/** `GET /api/search?text=…`: the sessions, by ID, behind hits in the full text: their chats, tool calls and prompts. */
export interface Found extends SearchResults {
  /** For each hit the session that it belongs to, if it belongs to one. */
  sessions: (string | null)[];
}

/** `GET /api/session?id=ID`. */
export interface SessionView {
  info: SessionInfo;
  ledger: Ledger;
  timeline: Timeline;
}

/** A message as a list shows it: texts cut to their first 2,000 characters. */
export interface MessageView {
  /** JSON of the message, its long strings cut. */
  message: unknown;
  /** Length of its whole JSON, in characters. */
  length: number;
  /** Whether a string was cut. `GET /api/message` has the whole. */
  cut: boolean;
  about: MessageAbout;
}

/** The request in the provider's format: `messages` where another extension changed them after us, texts cut as in `MessageView`. */
export interface PayloadView {
  hash: string;
  messages: Pick<MessageView, "message" | "length" | "cut">[] | null;
}

/** `GET /api/call?id=ID&call=N`. All its tokens are in the provider's count, as far as that was known at the call; `size` says how that was. */
export interface CallView {
  call: Omit<RecordedCall, "messages" | "about" | "payload"> & { payload: PayloadView | null };
  messages: MessageView[];
  /** How the call differs from the one before; null for the first, and where that cannot be read. */
  before: Comparison | null;
  /** How system prompt and tools differ from those of the call before; null where they are the same. `text` is cut as a `diff` is. */
  promptChange: PromptChange | null;
}

/** `GET /api/plain?id=ID&call=N`: how the call differs from what the plain host would have sent. */
export type PlainView = Comparison;

/** Another list of messages beside a call's: the one before, or that of the plain host. Tokens as in `CallView`. */
export interface Comparison {
  /** Number of messages of the other list, and their tokens. */
  count: number;
  tokens: number;
  /** From the other list to the call's: `old` is an index of the other, `new` one of the call's. A `diff` is cut to 20,000 characters. */
  changes: CallChange[];
  /** The messages that `changes` has as removed or changed, by their index in the other list. */
  messages: { [old: number]: MessageView };
}

/** `GET /api/message?id=ID&call=N&at=INDEX&of=sent|plain|payload`: the exact bytes, as text/plain. */
export type WholeMessage = string;

/** `GET /api/object?name=ID&session=ID`: newest version first; contents come one by one. */
export interface ObjectView {
  id: string;
  versions: Version[];
  links: ObjectLink[];
  backlinks: ObjectLink[];
  /** What the file is on disk now; null for other objects and where the file cannot be told. */
  disk: { path: string; state: "same" | "changed" | "missing" | "unreadable" } | null;
}

/** `GET /api/content?name=ID&tx=TX`, as text/plain; `GET /api/diff?name=ID&from=TX&to=TX`: a unified difference, as text/plain. */
export type ContentText = string;

/** `GET /api/memory?session=ID`: the memory of the session's folder. */
export interface MemoryView {
  pages: {
    id: string;
    scope: string;
    file: string;
    heading: string | null;
    text: string;
    fidelity: string | null;
    resident: boolean;
  }[];
  /** A `diff` is cut to 20,000 characters. */
  stale: StalePage[];
  faults: { fault: string; count: number }[];
  problems: string[];
}

/** `GET /api/as-set?id=ID`: how a session is played again where nothing else is asked for. */
export interface AsSet {
  /** Names of the price tables that there are. */
  presets: string[];
  /** The session's price table; where it had none of these, the one that works like it. */
  prices: string;
  /** Tokens of the model's window; null for no limit. */
  window: number | null;
  /** The settings that count when a session is played again, with the values that they have now. */
  settings: { [key: string]: unknown };
}

/** `GET /api/what-if?id=ID&prices=…&window=…&setting.KEY=VALUE…`: the session played again as it was set, and as asked. */
export interface WhatIf {
  before: ReplayedFile;
  after: ReplayedFile;
}

/**
 * `GET /api/follow?id=ID` (`text/event-stream`): an event `changed` with the transaction as data, whenever the session was written.
 * Without an ID it follows all, and is told within some seconds.
 */
export interface Changed {
  txId: number;
}

/** What who follows hears. `lost`: the server does not answer any more. `found`: it answers, again or at first. */
export interface Heard {
  changed: (changed: Changed) => void;
  lost: () => void;
  found: () => void;
}

/** What an answer other than 200 holds. */
export interface Failure {
  code: string;
  message: string;
  hint: string | null;
}

/**
 * What a page that carries its data holds: JSON, compressed by gzip, as base64 in the element `#carried`. `session`: written by
 * `palimpsest open SESSION --html`; `replays`: by `palimpsest replay --html`. A page without that element asks a server.
 */
export type Carried = CarriedSession | { replays: ReplayReport };

/** A session with all that the page asks for. Texts that occur often stand once, and are named by their place. */
export interface CarriedSession {
  about: About;
  session: SessionView;
  /** Each distinct text: JSON of messages and tools, system prompts, differences. */
  texts: string[];
  /** Each distinct thing that is known of a message. */
  abouts: MessageAbout[];
  /** In order; `call.call` counts from 1 without gaps. One that could not be read has only an error. */
  calls: (CarriedCall | { error: Failure })[];
  /** What the session met, by ID. */
  objects: { [id: string]: CarriedObject | { error: Failure } };
  /** Null where the page was written without. */
  memory: MemoryView | { error: Failure } | null;
}

/**
 * A list as it differs from the same one of the call before (of the nearest earlier one that has no error; before the first it is
 * empty): the first `keep` entries of that, then `add`, then its last `tail` ones.
 */
export interface CarriedList<Entry> {
  keep: number;
  add: Entry[];
  tail: number;
}

/** A message: the places of its JSON in `texts` and of what is known of it in `abouts`. */
export type CarriedMessage = [text: number, about: number];

/**
 * A `CallChange` without what follows from those before it: 0 `kept`, 1 `removed`, 2 `inserted`, 3 `changed`; `count`; place of the
 * `diff` in `texts`, -1 for none. The old index grows by `count` with each but `inserted`, the new one with each but `removed`.
 */
export type CarriedChange = [change: 0 | 1 | 2 | 3, count: number, diff: number];

/** A call; `systemPrompt`, `tools` (their JSON) and the payload's messages are places in `texts`. */
export interface CarriedCall {
  call: Omit<RecordedCall, "messages" | "about" | "payload" | "systemPrompt" | "tools"> & {
    systemPrompt: number | null;
    tools: number | null;
    payload: { hash: string; messages: number[] | null } | null;
  };
  sent: CarriedList<CarriedMessage>;
  plain: CarriedList<CarriedMessage>;
  /** How system prompt and tools differ from those of the call before; `text` is a place in `texts`. */
  promptChange: (Omit<PromptChange, "text"> & { text: number | null }) | null;
  /** How it differs from the call before; null for the first, and where that could not be read. No list of the call before: whole. */
  before: CarriedChange[] | null;
  /** How it differs from what the plain host would have sent. */
  againstPlain: CarriedList<CarriedChange>;
}

/** An object: `view.versions` are those that stood while the session ran, newest first. */
export interface CarriedObject {
  view: ObjectView;
  /**
   * Contents of `view.versions` in the same order, each as it differs from the one before it in this list (the first from an empty
   * text): its first `keep` UTF-16 units, then `add`, then its last `tail` ones; or the text of the message at a place in `texts`. Null
   * for a version without content. One that could not be read counts as left out of the list.
   */
  contents: ({ keep: number; add: string; tail: number } | { message: number } | { error: Failure } | null)[];
  /** Differences between neighbours in `view.versions`: places in `texts`, of one version to the next newer one. */
  diffs: (number | { error: Failure })[];
}

/** What the data comes from: a server, or the page itself. Each rejects with a `Failure`. */
export interface Source {
  /** Whether sessions can be followed, searched and played again. */
  readonly live: boolean;
  about(): Promise<About>;
  sessions(): Promise<Sessions>;
  bills(ids: string[]): Promise<Bills>;
  search(text: string): Promise<Found>;
  session(id: string): Promise<SessionView>;
  call(id: string, call: number): Promise<CallView>;
  plain(id: string, call: number): Promise<PlainView>;
  message(id: string, call: number, at: number, of: "sent" | "plain" | "payload"): Promise<WholeMessage>;
  object(name: string, session: string): Promise<ObjectView>;
  content(name: string, txId: number): Promise<ContentText>;
  diff(name: string, from: number, to: number): Promise<ContentText>;
  memory(session: string): Promise<MemoryView>;
  asSet(id: string): Promise<AsSet>;
  /** `asked`: values by `prices`, `window` and the settings' names, as the person wrote them. What is missing is as it was set. */
  whatIf(id: string, asked: { [name: string]: string }): Promise<WhatIf>;
  /** Follows a session, or all. Returns what ends it. */
  follow(id: string | null, heard: Heard): () => void;
}
