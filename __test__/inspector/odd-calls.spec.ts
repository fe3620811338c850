// Calls that are not as others in a real browser: changed by another extension, with pictures, with thousands of messages, failed open.
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { noBrowser, open, overhang, privateFolder, serve, shoot, violations } from "./browser.ts";
import { Host } from "./host.ts";

const folder = privateFolder();
const session = "#/session/session%3Aodd";
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let url = "";

beforeAll(async () => {
  if (noBrowser) {
    return;
  }
  const path = join(folder, "store.sqlite");
  const store = await openStore({ path });
  const host = await Host.open(store, { sessionId: "odd", cwd: join(folder, "project") });
  host.user("Look at the page.");
  host.afterwards = (messages) => [...messages, { role: "user", content: "added by another extension" }];
  const image = { type: "image" as const, mimeType: "image/png", data: pixel };
  await host.call("look", { page: "start" }, () => [{ type: "text", text: "a page" }, image]);
  host.afterwards = (messages) => messages;
  host.systemPrompt += "\nRemember: run the tests first.";
  host.tools = [...host.tools.slice(1), { name: "look", description: "Look at a page.", parameters: {} }];
  await host.bash("make", "made\n");
  host.session.recordFailedCall("STORE_UNAVAILABLE");
  host.user("Go on.");
  for (let at = 0; at < 2_500; at += 1) {
    const call = { type: "toolCall" as const, id: `many_${at}`, name: "bash", arguments: { command: `step ${at}` } };
    host.messages.push({ role: "assistant", content: [call], timestamp: at });
    host.messages.push({ role: "toolResult", toolCallId: call.id, content: [{ type: "text", text: `stepped ${at}` }] });
  }
  await host.say("Done.");
  await host.session.close();
  await store.close();
  url = await serve("--store", path);
}, 120_000);

describe.skipIf(noBrowser)("a call", () => {
  test("that another extension changed shows what was sent instead", async () => {
    const page = await open(`${url}${session}/call/1?tab=payload`);
    await page.getByText("Another extension changed the messages after Palimpsest:").waitFor();
    await page.getByText("added by another extension").waitFor();
    await page.getByText("then changed: see Payload").waitFor();
    await shoot(page, "call-payload");
    expect(await violations(page)).toEqual([]);
    await page.goto(`${url}${session}/call/2?tab=payload`);
    await page.getByText("No other extension changed the messages: they went out as sent.").waitFor();
  });

  test("before which system prompt and tools changed says how", async () => {
    const page = await open(`${url}${session}/call/2?tab=before`);
    const changed = page.locator("article.prompt");
    await changed.getByText("Remember: run the tests first.").waitFor();
    const text = await changed.textContent();
    expect(text).toContain("New tools: look");
    expect(text).toContain("Tools that are gone: read");
    expect(text).not.toContain("defined otherwise");
    await shoot(page, "call-prompt");
    expect(await violations(page)).toEqual([]);
    await page.goto(`${url}${session}/call/1?tab=before`);
    await page.getByText("This is the first call.").waitFor();
    expect(await changed.count()).toBe(0);
  });

  test("with a picture says so beside its text, and loads none", async () => {
    const page = await open(`${url}${session}/call/2`);
    await page.getByText("a page").first().waitFor();
    await page
      .getByText(/image\/png/)
      .first()
      .waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    await shoot(page, "call-picture");
  });

  test("that failed open says why, and leads to its neighbours", async () => {
    const page = await open(`${url}${session}/call/3`);
    await page.locator(".notice", { hasText: "STORE_UNAVAILABLE" }).waitFor();
    await shoot(page, "call-failed");
    await page.getByRole("link", { name: /Next call/ }).click();
    await page.getByRole("heading", { level: 1, name: /^Call 4/ }).waitFor();
  });

  test("with 5,000 messages draws only visible ones, without jumps", async () => {
    const page = await open(`${url}${session}/call/4`);
    await page.getByText("step 0", { exact: false }).first().waitFor();
    expect(Number(await page.locator("main *").count())).toBeLessThan(20_000);
    await page.getByRole("searchbox", { name: "Find in the messages" }).fill("stepped 2345");
    await page.getByText("stepped 2345").waitFor();
    await shoot(page, "call-many");
    await page
      .getByRole("status")
      .filter({ hasText: /^1 of 5,\d{3} messages$/ })
      .waitFor();
    const narrow = await open(`${url}${session}/call/4`, { viewport: { width: 380, height: 800 } });
    await narrow.getByRole("heading", { level: 1 }).waitFor();
    expect(await overhang(narrow)).toBe(0);
  });
});
