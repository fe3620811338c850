// Writes what vitest found to $PALIMPSEST_VITEST_REPORT: its own JSON report names no projects, without which a test is not run again alone.
import { writeFileSync } from "node:fs";

/**
 * @import { Reporter, SerializedError, TestCase, TestModule } from "vitest/node"
 * @import { FileReport, TestReport, VitestReport } from "./test-results.js"
 */

/** @implements {Reporter} */
export default class {
  /**
   * @param {readonly TestModule[]} modules
   * @param {readonly SerializedError[]} errors
   */
  onTestRunEnd(modules, errors) {
    /** @type {VitestReport} */
    const report = {
      files: modules.map(fileReport),
      errors: errors.map((error) => ({ message: textOf(error), path: pathOf(error) })),
    };
    writeFileSync(/** @type {string} */ (process.env.PALIMPSEST_VITEST_REPORT), JSON.stringify(report));
  }
}

/**
 * @param {TestModule} module
 * @returns {FileReport}
 */
function fileReport(module) {
  const suites = [module, ...module.children.allSuites()];
  return {
    path: module.moduleId,
    name: module.relativeModuleId,
    project: module.project.name,
    isFinished: ["passed", "failed", "skipped"].includes(module.state()),
    errors: suites.flatMap((suite) => suite.errors().map(textOf)),
    tests: [...module.children.allTests()].map(testReport),
  };
}

/**
 * @param {TestCase} test
 * @returns {TestReport}
 */
function testReport(test) {
  const { state, errors = [] } = test.result();
  return {
    name: test.fullName,
    state,
    message: errors.map(textOf).join(" "),
    ms: test.diagnostic()?.duration ?? 0,
  };
}

/** @param {{ stack?: string, message: string }} error */
function textOf({ stack, message }) {
  return stack ?? message;
}

/** @param {SerializedError} error */
function pathOf({ VITEST_TEST_PATH: path }) {
  return typeof path === "string" ? path : undefined;
}
