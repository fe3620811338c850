// Sessions for the tests of saved pages: one with all that sessions have, recorded ones, and one with a secret in every place.
import { Buffer } from "node:buffer";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type Message, openStore, type Store } from "../../index.js";
import { Host } from "./host.ts";
import { eager, type Made, startWork, testLog } from "./stores.ts";

/** A session that was made, and the bytes of its messages as JSON, one a line: less than any host stores of it. */
export interface Played extends Made {
  jsonl: number;
}

/** What the model does in a round, a call each. */
const STEPS: ((host: Host, call: number) => Promise<void>)[] = [
  (host) => host.read("lib/places.js"),
  (host, call) => host.bash("npm test", testLog(call, false), true),
  (host, call) => host.call("look", { page: `part ${call}` }, () => [noise(call), picture(call)]),
  (host, call) => host.call("exec", { code: `step(${call})` }, () => [{ type: "text", text: "exit 0" }, noise(call)]),
  (host, call) => {
    const [line] = readFileSync(join(host.cwd, "lib/places.js"), "utf8")
      .split("\n")
      .slice(call % 30);
    return host.write("lib/places.js", `${readFileSync(join(host.cwd, "lib/places.js"), "utf8")}// ${call} ${line}\n`);
  },
  (host, call) => host.bash(`rg -n "step ${call}" lib`, String(noise(call).text)),
  (host) => host.read("lib/places.js"),
  (host, call) => host.bash("git log", String(noise(call * 3).text).repeat(2)),
  // A line of an output that has left: a fault.
  (host, call) => host.write(`notes-${call}.md`, `${testLog(Math.max(1, call - 97), false).split("\n")[99]}\n`),
  (host, call) => host.say(`Step ${call} is done: ${String(noise(call).text).slice(0, 400)}`),
];

/** Some hundred words that compress as words do. */
function noise(seed: number) {
  const word = (at: number) => ((seed * 7_919 + at * 104_729) % 999_983).toString(36);
  const lines = Array.from({ length: 30 }, (_, row) =>
    Array.from({ length: 8 }, (__, at) => word(row * 8 + at)).join(" "),
  );
  return { type: "text" as const, text: `${lines.join("\n")}\n` };
}

function picture(seed: number) {
  const bytes = Buffer.from(Array.from({ length: 600 }, (_, at) => (seed * 31 + at * at * 17) % 251));
  return { type: "image" as const, mimeType: "image/png", data: bytes.toString("base64") };
}

/** A session of so many calls, with texts, pictures, answers in several blocks, thinking, files, epochs, faults and memory. */
export async function variedStore(folder: string, calls = 500): Promise<Played> {
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  const host = await startWork(store, join(folder, "project"), "varied");
  put(host.cwd, ".pi/memory/MEMORY.md", "# Facts\n- Places are in `lib/places.js`.\n");
  for (let call = 1; call <= calls; call += 1) {
    if (call % STEPS.length === 1) {
      host.user(`Part ${Math.ceil(call / STEPS.length)}, please: ${String(noise(call).text).slice(0, 200)}`);
    }
    if (call % 120 === 60) {
      host.systemPrompt += `\nFrom call ${call} on: say what you did.`;
    }
    host.thought = call % 3 === 0 ? String(noise(call + 1).text).slice(0, 500) : "";
    await STEPS[(call - 1) % STEPS.length](host, call);
  }
  await host.session.close();
  await store.close();
  return { path, session: host.id, jsonl: jsonlBytes(host) };
}

/** A recorded session, played as a host does. */
export async function recordedStore(folder: string, file: string): Promise<Played> {
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  const host = await Host.open(store, { sessionId: "recorded", cwd: join(folder, "project") });
  for (const line of gunzipSync(readFileSync(file)).toString().trim().split("\n").slice(1)) {
    const { meta: _, ...message } = JSON.parse(line);
    await host.play(message as Message);
  }
  await host.session.close();
  await store.close();
  return { path, session: host.id, jsonl: jsonlBytes(host) };
}

function jsonlBytes({ messages }: Host): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)) + 1, 0);
}

function put(cwd: string, path: string, text: string): void {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
}

const random = "Zk3vQ9x1LmT7sWc5RyB2nH8dJ4fG6aPqE0Ua";
const keyLines = Array.from(
  { length: 4 },
  (_, at) => `MIIEpAIBAAKCAQEA${at}Zk3vQ9x1LmT7sWc5RyB2nH8dJ4fG6aPqE0UaYtR2mN5bV8x`,
);

/** What looks like a secret, and the line in which it stands. */
export const KEYS: Record<string, { secret: string; line: string }> = {
  openai: { secret: `sk-proj-${random}`, line: `OPENAI_API_KEY=sk-proj-${random}` },
  anthropic: { secret: `sk-ant-api03-${random}`, line: `ANTHROPIC_API_KEY=sk-ant-api03-${random}` },
  github: { secret: `ghp_${random}`, line: `git clone with ghp_${random} today` },
  aws: { secret: "AKIAZ7QX4MNB2VCTR5LK", line: "aws_access_key_id = AKIAZ7QX4MNB2VCTR5LK" },
  bearer: { secret: "q8Hk3vQ9x1LmT7sWc5RyB2nH8d", line: "Authorization: Bearer q8Hk3vQ9x1LmT7sWc5RyB2nH8d" },
  url: { secret: "Zx9vQ2mTq7Lw4e", line: "postgres://ann:Zx9vQ2mTq7Lw4e@db.example/orders" },
  env: { secret: "hT5wK9pL2xV7nB4m", line: "DB_PASSWORD=hT5wK9pL2xV7nB4m" },
  jwt: {
    secret: `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${random}`,
    line: `session eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${random} ends`,
  },
  key: {
    secret: keyLines[2],
    line: ["-----BEGIN RSA PRIVATE KEY-----", ...keyLines, "-----END RSA PRIVATE KEY-----"].join("\n"),
  },
};

/** All of these lines: what a careless file holds. */
const careless = Object.values(KEYS).map(({ line }) => line);

/**
 * A session whose person, tools, prompt, files, memory, payload and failures hold secrets, some of them in pieces: cut by a title, and in
 * the difference of a file of which a line in the midst of a key was changed.
 */
export async function secretStore(folder: string): Promise<Made> {
  const path = join(folder, "store.sqlite");
  const store: Store = await openStore({ path });
  const cwd = join(folder, "project");
  const host = await Host.open(store, { sessionId: "secrets", cwd, settings: eager });
  const all = careless.join("\n");
  put(cwd, ".pi/memory/MEMORY.md", `# Keys\n- The clone: ${KEYS.github.line}, see \`config.txt\`.\n`);
  // So long that a title ends within the token.
  host.user(`Deploy again, as the last time, with ${KEYS.github.secret} and then say which hosts it is on.`);
  host.systemPrompt = `You may use ${KEYS.anthropic.line}.`;
  host.tools = [
    { name: "bash", description: `With ${KEYS.bearer.line}`, parameters: { type: "object", properties: {} } },
  ];
  host.put("config.txt", `first\n${all}\nlast\n`);
  await host.read("config.txt");
  await host.bash(`curl -H "${KEYS.bearer.line}" https://api.example`, `${all}\n`.repeat(30));
  host.put("config.txt", `first\n${all.replace(keyLines[1], `${keyLines[1]}x`)}\nmore\n`);
  await host.read("config.txt");
  host.session.recordFailedCall(`CANNOT_SEND ${KEYS.url.line}`);
  host.user("On.");
  await host.call("fetch", { url: KEYS.url.line, headers: { [KEYS.github.secret]: KEYS.jwt.secret } }, () => all);
  host.afterwards = (messages) => [...messages, { role: "user", content: `by another: ${KEYS.aws.line}` }];
  await host.call("note", { path: `keys/${KEYS.openai.secret}.txt`, token: KEYS.env.secret }, () => "noted");
  host.thought = `It is ${KEYS.env.line}`;
  await host.say(`Deployed with ${KEYS.openai.line}`);
  await host.session.close();
  await store.close();
  return { path, session: host.id };
}
