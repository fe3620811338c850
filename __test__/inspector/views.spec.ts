// Every view of a worked session in a real browser: light, dark, narrow, accessible. A picture of each is written to look at.
import { beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { noBrowser, open, overhang, privateFolder, serve, shoot, violations } from "./browser.ts";
import { workedStore } from "./stores.ts";

const folder = privateFolder();
const session = "#/session/session%3Aworked";
const views: Record<string, string> = {
  session,
  call: `${session}/call/33`,
  before: `${session}/call/33?tab=before`,
  plain: `${session}/call/33?tab=plain`,
  "failed call": `${session}/call/37`,
  objects: `${session}/objects`,
  memory: `${session}/memory`,
  "what-if": `${session}/what-if?prices=openai&window=20000`,
  compare: "#/compare/session%3Aworked/session%3Aworked-1",
  file: "",
  output: "",
};

let url = "";

beforeAll(async () => {
  if (noBrowser) {
    return;
  }
  const { path } = await workedStore(folder, { sessions: 2 });
  const store = await openStore({ path });
  const { objects } = await store.timeline("session:worked");
  await store.close();
  const object = (part: string) => {
    const id = objects.find(({ name }) => name.includes(part))?.id ?? "";
    return `#/object/${encodeURIComponent(id)}?session=session%3Aworked`;
  };
  views.file = object("places.js");
  views.output = object("npm test");
  url = await serve("--store", path);
});

describe.skipIf(noBrowser)("the view", () => {
  describe.each(Object.keys(views))("%s", (name) => {
    test.each(["light", "dark"] as const)("has no serious violation of accessibility in %s", async (colorScheme) => {
      const page = await open(url + views[name], { colorScheme });
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator("main:not(:has([aria-busy]))").waitFor();
      await shoot(page, `${name}-${colorScheme}`);
      expect(await page.locator(".failure").allTextContents()).toEqual([]);
      expect(await violations(page)).toEqual([]);
    });

    test("fits into 380 pixels", async () => {
      const page = await open(url + views[name], { viewport: { width: 380, height: 800 } });
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator("main:not(:has([aria-busy]))").waitFor();
      await shoot(page, `${name}-380`);
      expect(await overhang(page)).toBe(0);
    });
  });
});
