// Tests of the addon, the extension and the scripts. The end-to-end ones start processes: few at a time, with room.
// They run on the version of Pi that users run and on the oldest that we serve. Where scripts/test.js says a tier, only its files are taken
// (scripts/lib/tiers.js); by hand any file can be run. Those on OpenClaw need 600 MB of packages, and run where that script asks for them.
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import { currentPi, oldestPi } from "./scripts/lib/pi-versions.js";
import { ciOnOldestPi, leftToCi, quickOnCurrentPi, quickOnOldestPi } from "./scripts/lib/tiers.js";

const tier = process.env.PALIMPSEST_TEST_TIER;
const specs = (names: string[]) => names.map((name) => `__test__/${name}.spec.ts`);
const endToEnd = (names = ["**/*"]) => specs(names.map((name) => `e2e/${name}`));
const onOldestPi = { quick: quickOnOldestPi, ci: ciOnOldestPi }[tier ?? ""];

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
    globalSetup: "__test__/own-agent.ts",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two more than the cores of a small machine: a test waits for what it started for a third of its time.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: {
          name: "here",
          include: specs(["*", "{inspector,xtdb}/*"]),
          exclude: tier === "quick" ? specs(leftToCi) : [],
        },
      },
      {
        extends: true,
        test: {
          name: `pi ${currentPi}`,
          include: endToEnd(tier === "quick" ? quickOnCurrentPi : undefined),
          env: { PALIMPSEST_TEST_PI: currentPi },
        },
      },
      {
        extends: true,
        test: {
          name: `pi ${oldestPi}`,
          include: endToEnd(onOldestPi),
          // The demo shows what users get; what is new in Pi 1.5 is not there.
          exclude: ["__test__/e2e/demo.spec.ts", "__test__/e2e/pi-1.5/**"],
          env: { PALIMPSEST_TEST_PI: oldestPi },
        },
      },
      ...(openClaw === undefined ? [] : [onOpenClaw]),
    ],
  },
});
