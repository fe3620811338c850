// Stores for the inspector's tests, benches and picture, made through the public methods. A maker gets a folder of its own, which only
// its user may read, and closes the store that it makes.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, type Settings, type Store } from "../../index.js";
import { Host, opus } from "./host.ts";
import { writeProject } from "./project.ts";

/** A store that was made, and a session in it. */
export interface Made {
  path: string;
  session: string;
}

/** Settings under which epochs come early, so that a short session has some. */
export const eager: Partial<Settings> = {
  keepResults: 2,
  collapseTokens: 800,
  previewTokens: 600,
  faultTokens: 100_000,
};

/** What the person asks for, one turn after another, and what the model changes for it. */
const WISHES = [
  {
    wish: "Why does `palimpsest sessions` sort by the time of the last call? I want the newest first.",
    file: "bin/commands/sessions.js",
  },
  { wish: "`oneLine` cuts wide characters in half. Look into it.", file: "bin/lib/table.js" },
  { wish: "Name the option that is wrong when there are two.", file: "bin/lib/arguments.js" },
  { wish: "A progress line stays behind when the command is interrupted.", file: "bin/lib/progress.js" },
  { wish: "Have `doctor` say which copy it looked at.", file: "bin/commands/doctor.js" },
  { wish: "The hint of a missing store should name the folder.", file: "bin/lib/store.js" },
];

/**
 * A session as people have them: files are read and changed, by the model and by others, tests print long outputs, a model is switched,
 * outputs leave, come back, are pinned and are missed.
 */
export async function workedStore(folder: string, { turns = 6, sessions = 1 } = {}): Promise<Made> {
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  const session = await playWork(await startWork(store, join(folder, "project")), turns);
  for (let other = 1; other < sessions; other += 1) {
    await playWork(await startWork(store, join(folder, `project-${other}`), `worked-${other}`), turns + other);
  }
  await store.close();
  return { path, session };
}

/** A session in a small project. */
export async function startWork(store: Store, cwd: string, sessionId = "worked"): Promise<Host> {
  writeProject(cwd);
  return Host.open(store, { sessionId, cwd, settings: eager });
}

/** The same in a window in which the plain host would have to compact. */
export async function narrowStore(folder: string): Promise<Made> {
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  const host = await startWork(store, join(folder, "project"));
  host.model = { ...host.model, contextWindow: 56_000 };
  const session = await playWork(host, 6);
  await store.close();
  return { path, session };
}

async function playWork(host: Host, turns: number): Promise<string> {
  for (let turn = 0; turn < turns; turn += 1) {
    await playTurn(host, turn);
  }
  await host.session.close();
  return host.id;
}

/** What the person asks for in a turn, and what the model does for it. Turns count from 0. */
export async function playTurn(host: Host, turn: number): Promise<void> {
  const { wish, file } = WISHES[turn % WISHES.length];
  host.user(turn < WISHES.length ? wish : `${wish} Once more, round ${Math.floor(turn / WISHES.length) + 1}.`);
  await host.bash(`rg -n "${basename(file)}" bin lib`, listing(turn));
  await host.read(file);
  await host.bash("npm test", testLog(turn, false), true);
  const line = lineOf(join(host.cwd, file), turn);
  await host.edit(file, line, `${line} // turn ${turn + 1}`);
  await EXTRAS[turn % EXTRAS.length](host, turn);
  await host.bash("npm test", testLog(turn, true));
  await host.bash("git diff --stat", ` ${file} | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n`);
  await host.say(`Changed one line of \`${file}\`; all tests pass.`);
}

/** What happens in some turns only. */
const EXTRAS: ((host: Host, turn: number) => Promise<void>)[] = [
  async (host, turn) => {
    await host.read("lib/places.js");
    host.put("lib/places.js", `${readFileSync(join(host.cwd, "lib/places.js"), "utf8")}// by hand, ${turn}\n`);
  },
  async (host) => {
    await host.ours("pin", { name: "bin/lib/table.js" });
  },
  async (host) => {
    host.model = { ...opus, contextWindow: host.model.contextWindow };
    await host.ours("activate", { name: "t1" });
  },
  // A line that only the log of the first turn has, which its preview left out.
  async (host, turn) => host.write(`notes-${turn}.md`, `${testLog(0, true).split("\n")[99]}\n`),
  async (host) => {
    host.session.recordFailedCall("STORE_UNAVAILABLE");
    await host.ours("deactivate", { name: "t1" });
  },
  async (host) => {
    await host.ours("unpin", { name: "bin/lib/table.js" });
  },
];

function lineOf(path: string, turn: number): string {
  const lines = readFileSync(path, "utf8").split("\n");
  const long = lines.filter((line) => line.length > 30 && lines.filter((other) => other.includes(line)).length === 1);
  return long[(turn * 7) % long.length];
}

function listing(turn: number): string {
  const line = (at: number) => `bin/commands/file-${at}.js:${at * 3 + turn}: import of module ${at * 31 + turn}`;
  return `${Array.from({ length: 60 }, (_, at) => line(at)).join("\n")}\n`;
}

/** What a run of many tests prints. */
export function testLog(turn: number, passes: boolean): string {
  const lines = Array.from({ length: 220 }, (_, at) => {
    const isBad = !passes && at === 131;
    return `${isBad ? "FAIL" : "ok"} ${at + 1} suite ${at % 17} holds for input ${(at * 7919 + turn * 104_729) % 40_961}`;
  });
  const detail = passes
    ? []
    : ["  expected 3 rows", `  but there were ${turn + 4}, the first at offset ${turn * 977 + 13}`];
  return [...lines, ...detail, passes ? "220 passed" : "219 passed, 1 failed", ""].join("\n");
}

const HOSTS = ["pi", "openclaw", "claude-code", "codex"];

/** Many short sessions of several hosts, and their titles: `Task 17: ...`. */
export async function crowdedStore(folder: string, count = 1_000): Promise<{ path: string }> {
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  for (let at = 0; at < count; at += 1) {
    const cwd = join(folder, `project-${at % 20}`);
    const host = await Host.open(store, { sessionId: `s${at}`, cwd, harness: HOSTS[at % HOSTS.length] });
    host.user(`Task ${at}: ${WISHES[at % WISHES.length].wish}`);
    await host.bash("npm test", `${(at * 7919) % 10_007} passed\n`);
    await host.say("Done.");
    await host.session.close();
  }
  await store.close();
  return { path };
}

/** One session of many calls, with epochs. */
export async function longStore(folder: string, calls = 2_000): Promise<Made> {
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  const host = await Host.open(store, { sessionId: "long", cwd: join(folder, "project"), settings: eager });
  for (let call = 0; call < calls; call += 1) {
    if (call % 25 === 0) {
      host.user(`Part ${call / 25 + 1} of the work, please.`);
    }
    const lines = Array.from(
      { length: 20 + (call % 60) },
      (_, at) => `row ${at} of ${call}: ${(at * call * 7919) % 999_983}`,
    );
    await host.bash(`report ${call}`, `${lines.join("\n")}\n`);
  }
  await host.session.close();
  await store.close();
  return { path, session: host.id };
}

/** What must be shown as text, and never act. */
export const hostile = {
  turned: "invoice\u202egpj.exe\u2066\u200f",
  markup: `</title></script><script>globalThis.wasRun = true</script><img src=x onerror="globalThis.wasRun = true">`,
  link: "[click](javascript:globalThis.wasRun=true) https://elsewhere.example/",
  hidden: "a\u200bb\u0000c\u001b[31md",
  lone: "x\ud800y",
};

/** A session whose every text is hostile; with `bytes`, also an output of that size. */
export async function hostileStore(folder: string, bytes = 0): Promise<Made> {
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  const all = Object.values(hostile).join(" ");
  const cwd = join(folder, "<img src=x onerror=alert(1)>");
  const host = await Host.open(store, { sessionId: `h ${hostile.link}`, cwd, harness: "<b>host</b>", settings: eager });
  host.model = { ...host.model, id: `model-${hostile.markup}` };
  host.user(all);
  host.put(`${hostile.turned}.html`, `${hostile.markup}\n${all}\n`);
  await host.read(`${hostile.turned}.html`);
  await host.bash(`echo '${hostile.markup}'`, `${all}\n`.repeat(40));
  await host.call("<script>tool</script>", { [hostile.markup]: hostile.lone }, () => all);
  host.put(`${hostile.turned}.html`, `${hostile.markup} and more\n${all}\n`);
  if (bytes > 0) {
    const line = `${hostile.markup} ${hostile.turned}\n`;
    await host.bash("cat large", line.repeat(Math.ceil(bytes / line.length)));
  }
  await host.say(all);
  host.user(hostile.lone);
  await host.say(hostile.hidden);
  await host.session.close();
  await store.close();
  return { path, session: host.id };
}

/** What a person does not want to see again. */
export const secrets = {
  excluded: "EXCLUDED-7f3a9c2b",
  forgotten: "FORGOTTEN-51c0de99",
  redacted: "ghp_Zk3vQ9x1LmT7sWc5RyB2nH8dJ4fG6aPqE0Ua",
};

/**
 * A session with a place that was excluded and one that was forgotten, and with a secret in what the person wrote. `redacted`: the store
 * into which an archive of it without secrets was imported.
 */
export async function withheldStore(folder: string): Promise<Made & { redacted: string }> {
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  const host = await Host.open(store, { sessionId: "withheld", cwd: join(folder, "project") });
  host.put(".env", `KEY=${secrets.excluded}\n`);
  host.user(`Deploy it with ${secrets.redacted}.`);
  await host.read(".env");
  await host.bash("make plan", `the plan says ${secrets.forgotten}\n`);
  await host.bash("make deploy", "deployed\n");
  await host.say("It is deployed.");
  await host.session.close();
  const { objects } = await store.timeline(host.id);
  const plan = objects.find(({ name }) => name.includes("make plan"));
  if (plan === undefined) {
    throw new Error("the session does not know the call to forget");
  }
  await store.maintenance.forget(plan.id, { dryRun: false });
  const archive = join(folder, "archive.jsonl");
  await store.maintenance.exportArchive({ path: archive, redact: true });
  await store.close();
  const redacted = join(folder, "redacted.sqlite");
  const second = await openStore({ path: redacted });
  await second.maintenance.importArchive({ path: archive });
  await second.close();
  return { path, redacted, session: host.id };
}

/** A worked session of whose outputs one is damaged: `call` is the first call that shows it. */
export async function damagedStore(folder: string): Promise<Made & { call: number; object: string }> {
  const made = await workedStore(folder, { turns: 2 });
  const store = await openStore({ path: made.path });
  const { objects } = await store.timeline(made.session);
  const damaged = objects.find(({ name }) => name.includes("npm test"));
  if (damaged === undefined) {
    throw new Error("the session does not know the output to damage");
  }
  const [version] = await store.history(damaged.id);
  await store.close();
  const database = new DatabaseSync(made.path);
  const changed = database
    .prepare(
      "UPDATE content SET text = ? WHERE hash = (SELECT content FROM version WHERE tx_id = ? AND content IS NOT NULL)",
    )
    .run("damaged", version.txId);
  database.close();
  if (changed.changes !== 1) {
    throw new Error(`${changed.changes} contents were damaged`);
  }
  return { ...made, call: damaged.shown[0].from, object: damaged.id };
}
