import type { Reporter, TestModule } from "vitest/node";

/** Prints one line for each skipped test at the end of a run. A test's note, or else its full name, states the reason. */
export default class SkippedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules)
      for (const test of module.children.allTests("skipped")) {
        const result = test.result();
        const note = result.state === "skipped" && result.note ? `: ${result.note}` : "";
        process.stdout.write(`skipped  ${module.relativeModuleId}  ${test.fullName}${note}\n`);
      }
  }
}
