// Tests of the addon, the extension and the scripts. The end-to-end ones start processes: few at a time, with room.
// They run on the version of Pi that users run and on the oldest that we serve. Those on OpenClaw run only when they are asked for:
// `npm run test:openclaw`.
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import { currentPi, oldestPi } from "./scripts/lib/pi-versions.js";

const endToEnd = ["__test__/e2e/**/*.spec.ts"];

const openClaw: TestProjectConfiguration = {
  extends: true,
  test: { name: "openclaw", include: ["__test__/openclaw/*.spec.ts"], testTimeout: 240_000, hookTimeout: 240_000 },
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
          include: endToEnd,
          // The demo shows what users get; what is new in Pi 1.5 is not there.
          exclude: ["__test__/e2e/demo.spec.ts", "__test__/e2e/pi-1.5/**"],
          env: { PALIMPSEST_TEST_PI: oldestPi },
        },
      },
      ...(process.env.PALIMPSEST_TEST_OPENCLAW === "1" ? [openClaw] : []),
    ],
  },
});
