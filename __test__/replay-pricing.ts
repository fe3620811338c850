// Prices a dump of `palimpsest replay` on its own: the rules of measuring written down a second time, over whole texts and
// without any of the bookkeeping that makes the first one fast. What both say must agree.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

export interface Table {
  read: number;
  write: number;
  /** Whether only whole requests can be reused, not any prefix of one. */
  breakpoints: boolean;
  lifetimeSeconds: number;
}

/** The tables as the rules of measuring give them. */
export const tables: Record<string, Table> = {
  anthropic: { read: 0.1, write: 1.25, breakpoints: true, lifetimeSeconds: 300 },
  openai: { read: 0.1, write: 1, breakpoints: false, lifetimeSeconds: Number.POSITIVE_INFINITY },
  gemini: { read: 0.25, write: 1, breakpoints: false, lifetimeSeconds: Number.POSITIVE_INFINITY },
};

interface Block {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  arguments?: unknown;
}

interface Message {
  role: string;
  content?: string | Block[];
  toolCallId?: string;
  timestamp?: number;
}

export interface Figures {
  cost: number;
  tokens: number;
  cached: number;
  peak: number;
  raw: number;
  strict: number;
  ownWords: number;
}

interface Need {
  line: string;
  source: number;
  said: boolean;
}

/** Lines of a file, gzipped or not, as JSON; a recording's header is not a message. */
export function* jsonLines(path: string): Generator<unknown> {
  const bytes = readFileSync(path);
  const data = path.endsWith(".gz") ? gunzipSync(bytes) : bytes;
  for (let at = 0; at < data.length; ) {
    const end = data.indexOf(10, at);
    const line = data.subarray(at, end < 0 ? data.length : end);
    at = end < 0 ? data.length : end + 1;
    if (line.length > 0) {
      yield JSON.parse(line.toString("utf8"));
    }
  }
}

export function readTranscript(path: string): Message[] {
  return [...jsonLines(path)].filter((value) => typeof (value as Message).role === "string") as Message[];
}

const blocks = ({ content }: Message): Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);

/** What is counted and compared of a message. */
function sent(message: Message): string {
  const parts = blocks(message).map((block) => {
    if (block.type === "text") {
      return block.text ?? "";
    }
    if (block.type === "thinking") {
      return block.thinking ?? "";
    }
    return block.type === "toolCall" ? block.name + JSON.stringify(block.arguments) : "";
  });
  return message.role + parts.join("");
}

const scalars = (text: string) => text.length - (text.match(/[\udc00-\udfff]/g)?.length ?? 0);
const tokens = (text: string) => scalars(text) / 4;

function strings(value: unknown): string[] {
  if (typeof value === "string") {
    return [value];
  }
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}

/** Distinct trimmed lines of at least 30 characters that a message says. */
function lines(message: Message): Set<string> {
  const texts = blocks(message).flatMap((block) => {
    if (block.type === "toolCall") {
      return strings(block.arguments);
    }
    return [block.text ?? block.thinking ?? ""];
  });
  const all = texts.flatMap((text) => text.split("\n")).map((line) => line.trim());
  return new Set(all.filter((line) => scalars(line) >= 30));
}

/** Keys in order at every depth, as canonical JSON has them. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(canonical);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, held]) => [name, canonical(held)]),
  );
}

function originOf(args: unknown): string {
  const { path, file_path, filePath } = (args ?? {}) as Record<string, unknown>;
  const named = [path, file_path, filePath].find((value) => typeof value === "string");
  return (named as string | undefined) ?? JSON.stringify(canonical(args));
}

/** The needs of each answer, and how many origins the outputs with a line have. */
function findNeeds(messages: Message[]) {
  const outputs = new Map<string, number>();
  const said = new Map<string, number>();
  const origins = new Map<string, Set<string>>();
  const asked = new Map<string, unknown>();
  const needs: Need[][] = [];
  messages.forEach((message, index) => {
    const own = lines(message);
    if (message.role === "assistant") {
      const found: Need[] = [];
      for (const line of own) {
        const source = said.get(line) ?? outputs.get(line);
        if (source !== undefined) {
          found.push({ line, source, said: said.has(line) });
        }
      }
      needs.push(found);
    }
    for (const block of blocks(message)) {
      if (block.type === "toolCall") {
        asked.set(block.id ?? "", block.arguments);
      }
    }
    for (const line of own) {
      if (message.role !== "toolResult") {
        said.set(line, index);
        continue;
      }
      outputs.set(line, index);
      const known = origins.get(line) ?? new Set();
      if (message.toolCallId !== undefined && asked.has(message.toolCallId)) {
        known.add(originOf(asked.get(message.toolCallId)));
      }
      origins.set(line, known);
    }
  });
  return { needs, originsOf: (line: string) => origins.get(line)?.size ?? 0 };
}

/** Length of the longest common prefix. */
function commonPrefix(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  for (const stride of [65_536, 256, 1]) {
    while (length + stride <= most && a.slice(length, length + stride) === b.slice(length, length + stride)) {
      length += stride;
    }
  }
  return length;
}

/** Providers find by a breakpoint what ends at most this many messages before it. */
const lookBack = 12;

/** Requests each of which begins with the one before, of which only the newest is kept, and when they were made. */
interface Branch {
  text: string;
  unseen: number;
  /** Time of the newest one's answer, or of the message before it where that is later. */
  time: number;
  /** Where each ended: the number of its messages by the length of its text. */
  ends: Map<number, number>;
}

/** The requests so far, as a provider's cache knows them. */
class Sent {
  #branches: Branch[] = [];

  /** Tokens that a request finds cached, without system prompt and tools; undefined if no earlier one is alive. */
  cached(text: string, messages: number, unseen: number, now: number, { breakpoints, lifetimeSeconds }: Table) {
    const alive = this.#branches.filter(({ time }) => !(now - time > lifetimeSeconds * 1_000));
    const lengths = alive.map((branch) => {
      const common = commonPrefix(branch.text, text);
      const isNewest = branch === this.#branches.at(-1);
      const grown = isNewest && common === branch.text.length;
      const near = [...branch.ends].filter(([end, count]) => end <= common && count + lookBack >= messages);
      return breakpoints && !grown ? Math.max(0, ...near.map(([end]) => end)) : common;
    });
    const length = Math.max(0, ...lengths);
    const holdsSummary = length > 0 && length >= summaryOf(text);
    return alive.length === 0 ? undefined : tokens(text.slice(0, length)) + (holdsSummary ? unseen : 0);
  }

  add(text: string, messages: number, unseen: number, made: number, answered: number, { lifetimeSeconds }: Table) {
    this.#branches = this.#branches.filter(({ time }) => !(made - time > lifetimeSeconds * 1_000));
    const ends = new Map([[text.length, messages]]);
    for (const branch of this.#branches) {
      const common = commonPrefix(branch.text, text);
      for (const [length, count] of branch.ends) {
        if (length <= common) {
          ends.set(length, count);
        }
      }
    }
    if (text.startsWith(this.#branches.at(-1)?.text ?? "\0")) {
      this.#branches.pop();
    }
    this.#branches.push({ text, unseen, time: Math.max(made, answered), ends });
  }
}

/** Length of the head of a request that stands for a summary. */
const summaryOf = (text: string) => text.match(/^summary \d+/)?.[0].length ?? 0;

export interface Request {
  messages: Message[];
  /** What a compaction before it cost. */
  compaction?: number;
  /** Tokens of the messages that are known by their size alone. */
  unseen?: number;
}

/** Prices requests one after the other. `fixed`: tokens of system prompt and tools. */
export function price(transcript: Message[], requests: Iterable<Request>, table: Table, fixed: number): Figures {
  const { needs, originsOf } = findNeeds(transcript);
  const answers = transcript.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
  const sizes = transcript.map((message) => tokens(sent(message)));
  const figures: Figures = { cost: 0, tokens: 0, cached: 0, peak: 0, raw: 0, strict: 0, ownWords: 0 };
  const known = new Map<Message, string>();
  const before = new Sent();
  let call = 0;
  for (const { messages, compaction = 0, unseen = 0 } of requests) {
    const texts = messages.map((message) => known.get(message) ?? sent(message));
    messages.forEach((message, index) => {
      known.set(message, texts[index]);
    });
    const text = texts.join("");
    const size = fixed + tokens(text) + unseen;
    const made = timeBefore(transcript, answers[call]);
    const held = before.cached(text, messages.length, unseen, made, table);
    const cached = held === undefined ? 0 : fixed + held;
    const answered = transcript[answers[call]].timestamp ?? Number.POSITIVE_INFINITY;
    before.add(text, messages.length, unseen, made, answered, table);
    figures.cost += cached * table.read + (size - cached) * table.write + compaction;
    figures.tokens += size;
    figures.cached += cached;
    figures.peak = Math.max(figures.peak, size);
    addFault(figures, { needs: needs[call], texts, originsOf, sizes, size, table });
    call += 1;
  }
  if (call !== answers.length) {
    throw new Error(`${call} requests for ${answers.length} answers`);
  }
  return figures;
}

/** Time of the newest message before an answer; a call whose time is not known finds all caches alive. */
function timeBefore(transcript: Message[], answer: number): number {
  const stamped = transcript.slice(0, answer).findLast(({ timestamp }) => timestamp !== undefined);
  return stamped?.timestamp ?? Number.NEGATIVE_INFINITY;
}

interface Looked {
  needs: Need[];
  texts: string[];
  originsOf: (line: string) => number;
  sizes: number[];
  size: number;
  table: Table;
}

function addFault(figures: Figures, { needs, texts, originsOf, sizes, size, table }: Looked) {
  const escaped = (line: string) => JSON.stringify(line).slice(1, -1);
  const stands = ({ line }: Need) => texts.some((text) => text.includes(line) || text.includes(escaped(line)));
  const missing = needs.filter((need) => !stands(need));
  if (missing.length === 0) {
    return;
  }
  const sources = [...new Set(missing.map(({ source }) => source))];
  const shown = sources.reduce((sum, source) => sum + Math.min(2_000, sizes[source]), 0);
  figures.cost += size * table.read + table.write * (60 + shown);
  figures.raw += 1;
  figures.strict += missing.some(({ said, line }) => !said && originsOf(line) < 2) ? 1 : 0;
  figures.ownWords += missing.some(({ said }) => said) ? 1 : 0;
}

/** The requests that a dump holds. */
export function* dumped(path: string): Generator<Request> {
  let next = 0;
  for (const line of jsonLines(path)) {
    const { call, messages } = line as { call: number; messages: Message[] };
    if (call !== next) {
      throw new Error(`call ${call} stands where ${next} should`);
    }
    next += 1;
    yield { messages };
  }
}

/** What the host alone sends: all, and where there is a window, a summary of what no longer fits and the rest. */
export function* plainRequests(transcript: Message[], fixed: number, window?: number): Generator<Request> {
  const sizes = transcript.map((message) => tokens(sent(message)));
  let start = 0;
  let summary = 0;
  let compactions = 0;
  for (const [end, { role }] of transcript.entries()) {
    if (role !== "assistant") {
      continue;
    }
    const from = (index: number) => sizes.slice(index, end).reduce((sum, size) => sum + size, 0);
    let compaction: number | undefined;
    if (window !== undefined && fixed + summary + from(start) > window - 16_384) {
      let begins = end;
      let kept = 0;
      while (begins > start && kept < 20_000) {
        begins -= 1;
        kept += sizes[begins];
      }
      const isStart = (index: number) => transcript[index].role !== "toolResult";
      let first = begins;
      while (first < end && !isStart(first)) {
        first += 1;
      }
      while (first === end || !isStart(first)) {
        first -= 1;
      }
      if (kept >= 20_000 && first > start) {
        compaction = summary + from(start) - from(first) + 7_500;
        start = first;
        summary = 2_000;
        compactions += 1;
      }
    }
    const head: Message[] = compactions === 0 ? [] : [{ role: `summary ${compactions}`, content: [] }];
    const unseen = compactions === 0 ? 0 : 2_000 - tokens(head[0].role);
    yield { messages: [...head, ...transcript.slice(start, end)], compaction, unseen };
  }
}
