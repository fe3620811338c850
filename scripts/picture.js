// `npm run picture`: the picture of the inspector in the README, docs/inspector.png: a session that was worked, in a real Chromium.
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root, setUp } from "./setup.js";

setUp(fileURLToPath(import.meta.url), { addon: "debug" });

// Only now: these run under the Node that set-up has chosen.
const { statSync } = await import("node:fs");
const { workedStore } = await import("../__test__/inspector/stores.ts");
const { startChromium, startInspector } = await import("./lib/inspector.js");

const mostBytes = 200_000;
const path = join(root, "docs", "inspector.png");
// Its name is in the picture, which must not differ for it. Who finds a folder there does not take it over.
const folder = join(tmpdir(), "palimpsest-picture");
mkdirSync(folder, { mode: 0o700 });
try {
  const { path: store } = await workedStore(folder, { turns: 24 });
  const { url, stop } = startInspector(["--store", store, "latest"]);
  const browser = await startChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 990 }, colorScheme: "light" });
    await page.goto(await url);
    await page.locator("canvas").first().waitFor();
    await page.screenshot({ path, animations: "disabled" });
  } finally {
    await Promise.all([browser.close(), stop()]);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const { size } = statSync(path);
console.log(`docs/inspector.png: ${Math.round(size / 1_000)} kB`);
if (size > mostBytes) {
  console.error(`the picture has \`${size}\` bytes; at most \`${mostBytes}\``);
  process.exitCode = 1;
}
