// What the page says of memory: its words without a browser, and the view of a folder with much and with none in a real one.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it, test } from "vitest";
import { type CitedFile, openMemory, openStore } from "../../index.js";
import { diffLines } from "../../inspector/page/elements/diff-lines.js";
import { citedFor, doubtText, pagesByFile } from "../../inspector/page/memory/memory-words.js";
import { noBrowser, open, overhang, privateFolder, serve, shoot, violations } from "./browser.ts";
import { Host } from "./host.ts";
import { hostile } from "./stores.ts";

describe("memory", () => {
  it("says why a page is in doubt", () => {
    const doubt = doubtText({ reason: "cited_contradicted", paths: ["a.rs"] });
    expect(doubt).toBe("The place that it cites no longer says this:");
    expect(doubtText({ reason: "never_used", days: 90 })).toBe("Never used in 90 days");
  });

  it("names with a doubt the cited files that it is about", () => {
    const file = (path: string, change: CitedFile["change"]) =>
      ({ path, place: path, change, movedTo: null, before: "", now: null, diff: null }) satisfies CitedFile;
    const cited = [file("a.rs", "contradicted"), file("b.rs", "gone")];
    expect(citedFor({ reason: "cited_contradicted", paths: ["a.rs"] }, cited)).toEqual([cited[0]]);
    expect(citedFor({ reason: "cited_gone", paths: ["b.rs"] }, cited)).toEqual([cited[1]]);
    expect(citedFor({ reason: "old", days: 90 }, cited)).toEqual([]);
  });

  it("tells lines of a difference from how many were left out", () => {
    expect(diffLines("@@ -3 +3 @@\n-a\n+b\n… 40 more lines\n").map(({ kind, text }) => [kind, text])).toEqual([
      ["place", "line 3 → line 3"],
      ["removed", "a"],
      ["added", "b"],
      ["place", "… 40 more lines"],
    ]);
  });

  it("has its pages file by file", () => {
    const page = {
      id: "1",
      scope: "project",
      file: "MEMORY.md",
      heading: null,
      text: "x",
      fidelity: null,
      resident: false,
    };
    const files = pagesByFile([page, { ...page, id: "2", file: "topic.md" }, { ...page, id: "3" }]);
    expect(files.map(({ file, pages }) => [file, pages.map(({ id }) => id)])).toEqual([
      ["MEMORY.md", ["1", "3"]],
      ["topic.md", ["2"]],
    ]);
  });
});

const folder = privateFolder();
const memory = "#/session/session%3Aremembers/memory";
const nothing = "#/session/session%3Aforgets/memory";
let url = "";
let nobodys = "";

/** A person whose memory cites files, of which some changed afterwards, and one who has none; with a session each. */
beforeAll(async () => {
  if (noBrowser) {
    return;
  }
  const [cwd, agentDir] = [join(folder, "project"), join(folder, "agent")];
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  };
  const cite = (path: string) => `\`${join(cwd, path)}\``;
  const rows = (word: string) => Array.from({ length: 400 }, (_, at) => `${word} ${at}\n`).join("");
  put("src/limits.rs", "pub const MOST: usize = 3;\n");
  put("src/gone.rs", "fn gone() {}\n");
  put("src/long.rs", rows("before"));
  put(".env", "KEY=nothing\n");
  put(
    "../agent/memory/MEMORY.md",
    [
      "# Decisions",
      `- At most three are tried, see ${cite("src/limits.rs")}.`,
      `- The old way is in ${cite("src/gone.rs")}.`,
      `- The table of rows is ${cite("src/long.rs")}.`,
      `- ${hostile.markup} ${hostile.turned} ${hostile.link}`,
      "- How it is built: [[build]], and [[broken]]",
      "",
    ].join("\n"),
  );
  put("../agent/memory/build.md", `# Build\n\n${"Run the build twice. ".repeat(300)}\n`);
  writeFileSync(join(agentDir, "memory/broken.md"), Buffer.from([0xff, 0xfe]));
  const store = await openStore({ path: join(folder, "store.sqlite") });
  const pages = openMemory({ agentDir, project: cwd }, store);
  const host = await Host.open(store, { sessionId: "remembers", cwd });
  await host.session.memorySection(pages);
  host.user("How many are tried?");
  await host.read("src/limits.rs");
  await pages.verify();
  const args = { path: join(agentDir, "memory/MEMORY.md") };
  const call = { toolName: "read", args, cwd, isError: false, isStored: true };
  await pages.observe(call);
  await pages.observe(call);
  put("src/limits.rs", `pub const MOST: usize = 5; // ${hostile.markup}\n`);
  put("src/long.rs", rows("after"));
  rmSync(join(cwd, "src/gone.rs"));
  await host.say("Three.");
  await host.session.close();
  const other = await Host.open(store, { sessionId: "forgets", cwd: join(folder, "empty") });
  other.user("And here?");
  await other.say("Nothing.");
  await other.session.close();
  await store.close();
  process.env.PI_CODING_AGENT_DIR = agentDir;
  url = await serve("--store", join(folder, "store.sqlite"));
  process.env.PI_CODING_AGENT_DIR = join(folder, "nobody");
  nobodys = await serve("--store", join(folder, "store.sqlite"));
}, 60_000);

describe.skipIf(noBrowser)("the view of memory", () => {
  test("shows faults, and how much of each page the model has", async () => {
    const page = await open(url + memory);
    await page.getByRole("heading", { name: "Faults" }).waitFor();
    const main = page.locator("main");
    expect(await main.textContent()).toContain("At most three are tried");
    expect(await main.locator(".chip.resident").count()).toBeGreaterThan(3);
    expect(await main.getByRole("row", { name: /^duplicate tool/ }).textContent()).toBe("duplicate tool1");
    expect(await main.locator(".failure li").allTextContents()).toEqual(
      expect.arrayContaining([expect.stringContaining("is not UTF-8 text"), expect.stringContaining("U+202E")]),
    );
    await page.getByRole("heading", { name: "Pages" }).scrollIntoViewIfNeeded();
    await shoot(page, "memory-pages");
  });

  test("shows how files changed that a doubtful page cites", async () => {
    const page = await open(url + memory);
    const about = (path: string) => page.locator(".cited", { hasText: path });
    await about("src/limits.rs").waitFor();
    expect(await about("src/limits.rs").textContent()).toContain("−pub const MOST: usize = 3;");
    expect(await about("src/limits.rs").textContent()).toContain("+pub const MOST: usize = 5;");
    expect(await about("src/gone.rs").textContent()).toContain("−fn gone() {}");
    await about("src/limits.rs").getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "src/limits.rs" }).waitFor();
  });

  test("shows a long diff in pieces, and how much is left out", async () => {
    const page = await open(url + memory);
    const long = page.locator(".cited", { hasText: "src/long.rs" });
    await long.waitFor();
    expect(await long.locator(".diff-line").count()).toBe(12);
    await long.getByRole("button", { name: /more lines of the difference/ }).click();
    expect(await long.locator(".diff-line").last().textContent()).toMatch(/… \d+ more lines/);
  });

  test("shows hostile text of memory as text", async () => {
    const page = await open(url + memory);
    await page.getByText("globalThis.wasRun").first().waitFor();
    await page.locator(".hidden-character", { hasText: "U+202E" }).first().waitFor();
    expect(await page.locator("main img, main script").count()).toBe(0);
  });

  test.each(["light", "dark"] as const)("has no serious violation of accessibility in %s", async (colorScheme) => {
    const page = await open(url + memory, { colorScheme });
    await page.getByRole("heading", { name: "Faults" }).waitFor();
    await shoot(page, `memory-much-${colorScheme}`);
    expect(await violations(page)).toEqual([]);
  });

  test("fits into 380 pixels", async () => {
    const page = await open(url + memory, { viewport: { width: 380, height: 800 } });
    await page.getByRole("heading", { name: "Faults" }).waitFor();
    expect(await overhang(page)).toBe(0);
    await shoot(page, "memory-much-380");
  });

  test("says that a folder has no memory", async () => {
    const page = await open(nobodys + nothing);
    await page.getByText("There is no memory for this folder yet.").waitFor();
    expect(await page.locator("main").textContent()).toContain("No page is in doubt.");
    await shoot(page, "memory-none");
  });
});
