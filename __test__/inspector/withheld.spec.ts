// Places that a store does not hold, or not as they were, in a real browser: they are shown as such, and the rest is there.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { noBrowser, open, privateFolder, serve, shoot } from "./browser.ts";
import { damagedStore, secrets, withheldStore } from "./stores.ts";

const folder = privateFolder();

function inside(name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { mode: 0o700 });
  return path;
}

describe.skipIf(noBrowser)("what a store does not hold", () => {
  test("is shown as excluded or forgotten, never as text", async () => {
    const { path, session } = await withheldStore(inside("withheld"));
    const page = await open(`${await serve("--store", path)}#/session/${encodeURIComponent(session)}/call/4`);
    await page.getByText("deployed").first().waitFor();
    const text = () => page.locator("main").textContent();
    await expect.poll(text).toMatch(/excluded/i);
    await expect.poll(text).toMatch(/forgotten/i);
    expect(await text()).not.toContain(secrets.excluded);
    expect(await text()).not.toContain(secrets.forgotten);
    await shoot(page, "withheld");
  });

  test("is shown as redacted after the import of a redacted archive", async () => {
    const { redacted, session } = await withheldStore(inside("redacted"));
    const page = await open(`${await serve("--store", redacted)}#/session/${encodeURIComponent(session)}/call/4`);
    await page.getByText("deployed").first().waitFor();
    const text = () => page.locator("main").textContent();
    await expect.poll(text).toMatch(/redacted/i);
    expect(await text()).not.toContain(secrets.redacted);
    await shoot(page, "redacted");
  });
});

describe.skipIf(noBrowser)("a damaged output", () => {
  test("is reported in its calls, and other calls are shown", async () => {
    const { path, session, call } = await damagedStore(inside("damaged"));
    const url = await serve("--store", path);
    const hash = `#/session/${encodeURIComponent(session)}`;
    const page = await open(`${url}${hash}`, {}, /status of 500/);
    await page.locator("canvas").first().waitFor();
    await page.goto(`${url}${hash}/call/${call - 1}`);
    await page.getByRole("heading", { level: 1, name: new RegExp(`\\b${call - 1}\\b`) }).waitFor();
    expect(await page.locator(".failure").count()).toBe(0);
    await page.goto(`${url}${hash}/call/${call}`);
    await page.locator(".failure", { hasText: "HASH_MISMATCH" }).waitFor();
    await shoot(page, "damaged");
  });
});
