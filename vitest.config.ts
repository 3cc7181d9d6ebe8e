import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Folders whose tests need no database, no process and no variable of their own: they share processes, and one set of modules. */
const PURE = ["domain", "contract", "engine", "plan", "config", "house", "bench"].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

/** The model test takes longest and is one file, so it starts first; the others come by size, as vitest has them. */
class ModelFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isModel = ({ moduleId }: TestSpecification) => Number(moduleId.endsWith("test/model/seeds.test.ts"));
    return (await super.sort(files)).toSorted((one, other) => isModel(other) - isModel(one));
  }
}

export default defineConfig({
  test: {
    pool: "forks",
    // Two more than two cores: many tests wait for a process, a commit or a browser.
    maxWorkers: 4,
    sequence: { sequencer: ModelFirst },
    // A locale that is not installed makes bash and others complain among what tests read.
    env: { LC_ALL: "C" },
    // Bounds for what hangs, not for what is slow: a busy machine may take ten times what a quiet one does.
    testTimeout: 180_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: PURE,
          // One database server for the whole run; every test file takes databases of its own from it.
          globalSetup: ["test/support/global-setup.ts"],
        },
      },
      { extends: true, test: { name: "pure", include: PURE, isolate: false } },
    ],
  },
});
