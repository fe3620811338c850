// Tests of the addon, the extension and the scripts. The end-to-end ones start processes: few at a time, with room.
// They run on the version of Pi that users run; on the oldest that we serve runs what differs there and a walk through the rest, and in
// `npm run check:all` everything. Those on OpenClaw run where scripts/test.js asks for them, since they need 600 MB of packages.
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import { currentPi, oldestPi } from "./scripts/lib/pi-versions.js";
import { isEverything } from "./scripts/lib/tiers.js";

const endToEnd = ["__test__/e2e/**/*.spec.ts"];

/** Pi itself, tools, the terminal and prompts, which differ, and sessions from one process to the next. */
const onOldestPi = "__test__/e2e/{harness,extension,foreign-tools,prompts,terminal,terminal-rows,lifecycle}.spec.ts";

/** Only the walk, or all. */
const openClaw = process.env.PALIMPSEST_TEST_OPENCLAW;
const onOpenClaw: TestProjectConfiguration = {
  extends: true,
  test: {
    name: "openclaw",
    include: [`__test__/openclaw/${openClaw === "walk" ? "walk" : "*"}.spec.ts`],
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
};

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: "here", include: ["__test__/*.spec.ts", "__test__/{inspector,xtdb}/*.spec.ts"] } },
      {
        extends: true,
        test: { name: `pi ${currentPi}`, include: endToEnd, env: { PALIMPSEST_TEST_PI: currentPi } },
      },
      {
        extends: true,
        test: {
          name: `pi ${oldestPi}`,
          include: isEverything ? endToEnd : [onOldestPi],
          // The demo shows what users get; what is new in Pi 1.5 is not there.
          exclude: ["__test__/e2e/demo.spec.ts", "__test__/e2e/pi-1.5/**"],
          env: { PALIMPSEST_TEST_PI: oldestPi },
        },
      },
      ...(openClaw === undefined ? [] : [onOpenClaw]),
    ],
  },
});
