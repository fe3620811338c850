// Texts that want to be more than text, in every view of the inspector in a real browser. `open` also fails a test in which a script of
// theirs ran, a request left this machine or the page broke its content security policy.
import { beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { noBrowser, open, privateFolder, serve, shoot } from "./browser.ts";
import { hostileStore, type Made } from "./stores.ts";

const folder = privateFolder();
const bytes = 50_000_000;
/** A character that turns a line around, and what stands beside it. */
const turned = /.{0,60}[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069].{0,60}/;

let made: Made;
let url = "";
/** Addresses of the views by their names. */
const views: Record<string, string> = {};

beforeAll(async () => {
  if (noBrowser) {
    return;
  }
  made = await hostileStore(folder, bytes);
  const store = await openStore({ path: made.path });
  const { objects, calls } = await store.timeline(made.session);
  await store.close();
  url = await serve("--store", made.path);
  const session = encodeURIComponent(made.session);
  const object = (type: string) => {
    const found = objects.find((other) => other.type === type);
    return `#/object/${encodeURIComponent(found?.id ?? "")}?session=${session}`;
  };
  Object.assign(views, {
    sessions: "",
    session: `#/session/${session}`,
    call: `#/session/${session}/call/${calls.length}`,
    plain: `#/session/${session}/call/${calls.length}?tab=plain`,
    objects: `#/session/${session}/objects`,
    file: object("file"),
    output: object("toolcall"),
    memory: `#/session/${session}/memory`,
    "what-if": `#/session/${session}/what-if`,
    compare: `#/compare/${session}/${session}`,
  });
}, 120_000);

describe.skipIf(noBrowser)("hostile texts", () => {
  test.each(["sessions", "session", "call", "plain", "objects", "file", "output", "memory", "what-if", "compare"])(
    "stay texts in the view: %s",
    async (name) => {
      const page = await open(url + views[name]);
      await page.getByRole("heading", { level: 1 }).waitFor();
      // Texts of 50 MB take their time, and more of it on a busy machine.
      await page.locator("main:not(:has([aria-busy]))").waitFor({ timeout: 55_000 });
      const text = `${await page.title()}\n${await page.locator("body").textContent()}`;
      expect(turned.exec(text)?.[0]).toBeUndefined();
      expect(await page.locator("main img, main script, main iframe, [onerror]").count()).toBe(0);
      expect(await page.locator("a:not([href^='#'])").count()).toBe(0);
      await shoot(page, `hostile-${name}`);
    },
  );

  test("of a title and a folder are there to be read", async () => {
    const page = await open(url);
    const row = page.locator(".sessions-list .rows .row");
    await row.waitFor();
    expect(await row.textContent()).toContain(`</title></script><script>globalThis`);
    expect(await row.textContent()).toContain("<b>host</b>");
    await page.locator(".hidden-character", { hasText: "U+202E" }).first().waitFor();
  });
});
