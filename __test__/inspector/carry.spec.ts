// A session as one page: how large it is, that it asks for nothing and says what the served page says, and that `--redact` leaves no secret.
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { sourceOf } from "../../inspector/page/data/carried.js";
import { Answers } from "../../inspector/server/answers.js";
import { isEverything } from "../../scripts/lib/tiers.js";
import { recordedData } from "../e2e/support.ts";
import { noBrowser, open, overhang, privateFolder, serve, shoot } from "./browser.ts";
import { Host } from "./host.ts";
import { carriedBy, carriedText, save } from "./saved.ts";
import { damagedStore, hostileStore, type Made, secrets, withheldStore, workedStore } from "./stores.ts";
import { KEYS, type Played, recordedStore, secretStore, variedStore } from "./varied.ts";

const folder = privateFolder();
const agentDir = join(folder, "agent");

function inside(name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { mode: 0o700 });
  return path;
}

const saved = (made: Made, name: string, ...options: string[]) =>
  save(made, join(folder, `${name}.html`), agentDir, ...options);

/** A view of a saved page, or of a served one. */
async function show(page: Page, url: string, hash: string): Promise<void> {
  await page.goto(`${url.replace(/#.*/, "")}${hash}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator("main:not(:has([aria-busy]))").waitFor();
}

/** What a view says, but for what a saved page cannot have: the state of a file on disk, and the way to play a session again. */
async function said(page: Page): Promise<string> {
  await page.evaluate(
    `document.querySelectorAll("main .disk, main a[href$='/what-if']").forEach((node) => node.remove())`,
  );
  return String(await page.locator("main").textContent()).replace(/\s+/g, " ");
}

/** Both say the same, once both have drawn what is in sight. */
async function expectSame(page: Page, live: Page, what: string): Promise<void> {
  const isSame = async () => {
    const [text, other] = [await said(page), await said(live)];
    return text.length > 80 && text === other;
  };
  await expect.poll(isSame, { message: what, timeout: 5_000 }).toBe(true);
}

const recorded = isEverything ? recordedData("transcripts/pi-mono-pi-d3e863b4.jsonl.gz") : undefined;

describe("a session as one page", () => {
  const calls = isEverything ? 500 : 130;
  let made: Played;
  let file = "";

  beforeAll(async () => {
    made = await variedStore(inside("varied"), calls);
    file = await saved(made, "varied");
  }, 300_000);

  test("of many calls is less than 1.5 times its messages", () => {
    expect(carriedBy(file).calls.length).toBe(calls);
    expect(statSync(file).size / made.jsonl).toBeLessThan(1.5);
  });

  test("has of each call what the server answers of it", async () => {
    const source = sourceOf(carriedBy(file));
    const store = await openStore({ path: made.path, readOnly: true });
    const around = { settings: {}, agentDir, version: "test", session: null };
    const answers = new Answers({ ...around, store, refreshed: (work) => work(store), written: (work) => work(store) });
    // Before call 60 the system prompt changed.
    for (const call of [1, 2, 59, 60, 61, 97, 130]) {
      const [carried, answered] = [await source.call(made.session, call), await answers.call(made.session, call)];
      expect(carried, `call ${call}`).toEqual(answered);
      expect(answered.promptChange?.text?.includes("\n+From call 60 on") ?? false).toBe(call === 60);
      expect(await source.plain(made.session, call)).toEqual(await answers.plain(made.session, call));
    }
    await store.close();
  }, 120_000);

  test.skipIf(recorded === undefined)(
    "that was recorded is less than 1.5 times its messages",
    async () => {
      const made = await recordedStore(inside("recorded"), String(recorded));
      expect(statSync(await saved(made, "recorded")).size / made.jsonl).toBeLessThan(1.5);
    },
    300_000,
  );

  test("can be read by its owner alone", async () => {
    const made = await workedStore(inside("private"), { turns: 1 });
    expect(statSync(await saved(made, "private")).mode & 0o777).toBe(0o600);
  });
});

describe.skipIf(noBrowser)("a saved page", () => {
  const views = [
    "",
    "/call/1",
    "/call/33",
    "/call/33?tab=before",
    "/call/33?tab=plain",
    "/call/37",
    "/objects",
    "/memory",
  ];
  const session = "#/session/session%3Aworked";
  let file = "";
  let url = "";
  const objects: string[] = [];

  beforeAll(async () => {
    const made = await workedStore(inside("worked"));
    const store = await openStore({ path: made.path });
    const timeline = await store.timeline(made.session);
    await store.close();
    for (const part of ["places.js", "npm test"]) {
      const id = timeline.objects.find(({ name }) => name.includes(part))?.id ?? "";
      objects.push(`#/object/${encodeURIComponent(id)}?session=session%3Aworked`);
    }
    url = await serve("--store", made.path);
    file = `file://${await saved(made, "worked", "--memory")}`;
  }, 120_000);

  test("says in every view what the served page says", async () => {
    const live = await open(url);
    const page = await open(file, { offline: true });
    for (const hash of [...views.map((view) => session + view), ...objects]) {
      await show(live, url, hash);
      await show(page, file, hash);
      await expectSame(page, live, hash);
    }
  }, 60_000);

  test("says in every call what the served page says", async () => {
    const live = await open(url);
    const page = await open(file, { offline: true });
    for (let call = 2; call <= 49; call += 5) {
      await show(live, url, `${session}/call/${call}`);
      await show(page, file, `${session}/call/${call}`);
      await expectSame(page, live, `call ${call}`);
    }
  }, 60_000);

  test("loads nothing and requests nothing, even with texts open", async () => {
    const requests: string[] = [];
    const page = await open("about:blank", { offline: true });
    page.on("request", (request) => requests.push(request.url()));
    await show(page, file, `${session}/call/33`);
    await page
      .getByRole("button", { name: /^Show .*(more|whole)/ })
      .first()
      .click();
    await show(page, file, objects[0]);
    await page.getByRole("button", { name: "Content", exact: true }).first().click();
    await page.locator("main:not(:has([aria-busy]))").waitFor();
    await shoot(page, "saved-object");
    expect(requests.filter((request) => request.replace(/#.*/, "") !== file)).toEqual([]);
  });

  test("opens with its session in light and dark, and fits 380 px", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await open(file, { colorScheme, offline: true });
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator("main:not(:has([aria-busy]))").waitFor();
      await shoot(page, `saved-${colorScheme}`);
    }
    const narrow = await open(file, { viewport: { width: 380, height: 800 }, offline: true });
    await narrow.getByRole("heading", { level: 1 }).waitFor();
    expect(await overhang(narrow)).toBe(0);
  });

  test("says that it cannot show what it does not hold", async () => {
    const page = await open(file, { offline: true });
    await page.goto(`${file}${session}/call/400`);
    await page.locator(".failure", { hasText: "there is no call 400" }).waitFor();
    await page.goto(`${file}#/compare/session%3Aworked/session%3Aother`);
    await page.locator(".failure", { hasText: "this page holds another session" }).first().waitFor();
  });
});

describe("what a store does not hold", () => {
  test.skipIf(noBrowser)("is written as excluded or forgotten, never as text", async () => {
    const made = await withheldStore(inside("withheld"));
    const file = await saved(made, "withheld");
    const text = carriedText(file);
    expect(text).not.toContain(secrets.excluded);
    expect(text).not.toContain(secrets.forgotten);
    const page = await open(`file://${file}#/session/${encodeURIComponent(made.session)}/call/4`, { offline: true });
    await page.getByText("deployed").first().waitFor();
    expect(await said(page)).toMatch(/excluded.*forgotten/i);
  });

  test.skipIf(noBrowser)("because it is damaged, is a failure in its place", async () => {
    const made = await damagedStore(inside("damaged"));
    const file = `file://${await saved(made, "damaged")}`;
    const hash = `#/session/${encodeURIComponent(made.session)}`;
    const page = await open(`${file}${hash}`, { offline: true });
    await page.locator("canvas").first().waitFor();
    await page.goto(`${file}${hash}/call/${made.call}`);
    await page.locator(".failure", { hasText: "HASH_MISMATCH" }).waitFor();
    await show(page, file, `${hash}/call/${made.call - 1}`);
    expect(await page.locator(".failure").count()).toBe(0);
    await show(page, file, `#/object/${encodeURIComponent(made.object)}`);
    await page.locator(".failure", { hasText: "HASH_MISMATCH" }).waitFor();
    await shoot(page, "saved-damaged");
  });
});

test.skipIf(noBrowser)(
  "a page with hostile texts shows them as text",
  async () => {
    const made = await hostileStore(inside("hostile"), isEverything ? 50_000_000 : 5_000_000);
    const file = `file://${await saved(made, "hostile")}`;
    const page = await open(`${file}#/session/${encodeURIComponent(made.session)}/call/7?tab=plain`, { offline: true });
    await page.getByText("globalThis.wasRun").first().waitFor({ timeout: 30_000 });
    expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
    await page.locator(".hidden-character", { hasText: "U+202E" }).first().waitFor();
    await shoot(page, "saved-hostile");
  },
  180_000,
);

describe("a page that is to hold no secret", () => {
  let made: Made;
  let file = "";
  /** What the page says without `--redact`. */
  let plain = "";

  beforeAll(async () => {
    made = await secretStore(inside("secrets"));
    file = await saved(made, "redacted", "--redact", "--memory");
    plain = carriedText(await saved(made, "open", "--memory"));
  }, 60_000);

  test.each(Object.keys(KEYS))("holds none of this kind, nor its start or end: %s", (name) => {
    const { secret } = KEYS[name];
    const text = carriedText(file);
    for (const part of [secret, secret.slice(0, 16), secret.slice(-12)]) {
      expect(text.includes(part), part).toBe(false);
    }
    expect(plain.split(secret).length).toBeGreaterThan(20);
  });

  test("has the paths of the person's files, as an archive has them", () => {
    expect(carriedText(file)).toContain(join(folder, "secrets", "project", "config.txt"));
  });

  test("does not call a redacted message checked", () => {
    const { abouts, calls, texts } = carriedBy(file);
    const withheld = calls
      .flatMap((call) => ("sent" in call ? call.sent.add : []))
      .filter(([, at]) => abouts[at].withheld);
    expect(withheld.length).toBeGreaterThan(4);
    expect(withheld.every(([text]) => texts[text].includes("[redacted:"))).toBe(true);
    expect(calls.map((call) => "call" in call && call.call.verified)).not.toContain(true);
  });

  test("says of versions that a secret was taken out", () => {
    const objects = Object.values(carriedBy(file).objects);
    const versions = objects.flatMap((object) => ("view" in object ? object.view.versions : []));
    expect(versions.filter(({ redacted }) => redacted === "secret").length).toBeGreaterThan(2);
  });

  test.skipIf(noBrowser)("says in bar, messages and hash that it was redacted", async () => {
    const page = await open(`file://${file}#/session/${encodeURIComponent(made.session)}/call/2`, { offline: true });
    await page.getByText("not checked").waitFor();
    await page.locator("header").getByText("redacted").waitFor();
    await page.locator("main").getByText("[redacted:github_token]").first().waitFor();
    await shoot(page, "saved-redacted");
  });

  test("is checked in its calls where nothing was taken out", async () => {
    const worked = await workedStore(inside("clean"), { turns: 1 });
    const { calls } = carriedBy(await saved(worked, "clean", "--redact"));
    expect(calls.map((call) => "call" in call && call.call.verified)).not.toContain(false);
  });
});

describe("a page for others", () => {
  /** Where each word stands, of which a page has those of the session. */
  const elsewhere = {
    "global memory": "alpenglow",
    "memory of the project": "barnacle",
    "settings of the person": "cinnabar",
    "the environment": "dragonfly",
    "another session": "eiderdown",
    "what another session read": "filigree",
    "a version after the session": "gossamer",
    "a version before the session": "juniper",
    "a version that a session beside it read": "kestrel",
  };
  const own = { "its prompt": "halcyon", "a file that it read": "isinglass" };
  let made: Made;

  beforeAll(async () => {
    const cwd = join(inside("others"), "project");
    const person = join(folder, "others", "agent");
    const put = (path: string, text: string) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    };
    put(join(person, "memory", "MEMORY.md"), `- landlord: ${elsewhere["global memory"]}\n`);
    put(join(cwd, ".pi", "memory", "MEMORY.md"), `- build: ${elsewhere["memory of the project"]}\n`);
    put(join(person, "palimpsest.json"), JSON.stringify({ exclude: [`**/${elsewhere["settings of the person"]}`] }));
    put(join(cwd, "a.md"), `${own["a file that it read"]}\n`);
    put(join(cwd, "b.md"), `[[a]] ${elsewhere["what another session read"]}\n`);
    made = { path: join(folder, "others", "store.sqlite"), session: "session:mine" };
    const store = await openStore({ path: made.path });
    const play = async (sessionId: string, word: string, file: string, meanwhile = async () => {}) => {
      const host = await Host.open(store, { sessionId, cwd });
      host.systemPrompt += `\nRemembered: ${word}.`;
      host.user(`Read ${file}, ${word}.`);
      await host.read(file);
      await meanwhile();
      await host.say("Done.");
      await host.session.close();
    };
    const reads = async (sessionId: string, text: string) => {
      put(join(cwd, "a.md"), `${text}\n`);
      await play(sessionId, elsewhere["another session"], "a.md");
      put(join(cwd, "a.md"), `${own["a file that it read"]}\n`);
    };
    await reads("before", elsewhere["a version before the session"]);
    await play("mine", own["its prompt"], "a.md", () =>
      reads("beside", elsewhere["a version that a session beside it read"]),
    );
    put(join(cwd, "a.md"), `${elsewhere["a version after the session"]}\n`);
    await play("other", elsewhere["another session"], "a.md");
    await play("third", elsewhere["another session"], "b.md");
    await store.close();
    process.env.PALIMPSEST_TEST_WORD = elsewhere["the environment"];
  });

  test.each([[], ["--redact"]])("has what its session saw, and nothing else %s", async (...options) => {
    const file = join(folder, "others", `page${options.join("")}.html`);
    const text = carriedText(await save(made, file, join(folder, "others", "agent"), ...options));
    const has = (words: object) => Object.entries(words).filter(([, word]) => text.includes(word));
    expect(has(elsewhere)).toEqual([]);
    expect(has(own)).toHaveLength(2);
    expect(text).not.toContain(made.path);
    const { memory } = sourceOf(JSON.parse(text));
    await expect(memory(made.session)).rejects.toMatchObject({ code: "NOT_CARRIED" });
  });

  test("has memory where the person asks for it", async () => {
    const file = join(folder, "others", "remembers.html");
    const text = carriedText(await save(made, file, join(folder, "others", "agent"), "--memory"));
    expect(text).toContain(elsewhere["global memory"]);
  });
});

test("a page that cannot be written leaves nothing behind", async () => {
  const made = await workedStore(inside("unwritten"), { turns: 1 });
  writeFileSync(join(folder, "file"), "");
  await expect(save(made, join(folder, "file", "page.html"), agentDir)).rejects.toThrow();
  expect(existsSync(join(folder, "file", "page.html"))).toBe(false);
});
