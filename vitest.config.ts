// Tests of the addon, the extension and the scripts. The end-to-end ones start processes: few at a time, with room.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["__test__/**/*.spec.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
