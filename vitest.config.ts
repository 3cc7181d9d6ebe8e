import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { PURE_FOLDERS, SHARED_FOLDERS } from "./test/support/projects.ts";

const filesOf = (folders: string[]) => folders.map((folder) => `test/${folder}/**/*.test.ts`);
const [PURE, SHARED] = [filesOf(PURE_FOLDERS), filesOf(SHARED_FOLDERS)];

/**
 * The model test takes longest and is one file, so it starts first. Each project's files follow each other, because a shared
 * process ends as soon as the next file is not for it, and those with a process of their own come first, because they take
 * longer. Within a project the order is by duration or size, as vitest has it.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) =>
      moduleId.endsWith("test/model/seeds.test.ts") ? 0 : ["own", "shared", "pure"].indexOf(project.name) + 1;
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}

/** One database server for the whole run; every test file takes databases of its own from it. */
const globalSetup = ["test/support/global-setup.ts"];

export default defineConfig({
  test: {
    pool: "forks",
    // Two more than two cores: many tests wait for a process, a commit or a browser.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
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
          name: "own",
          include: ["test/**/*.test.ts"],
          exclude: [...PURE, ...SHARED],
          globalSetup,
        },
      },
      { extends: true, test: { name: "shared", include: SHARED, isolate: false, globalSetup } },
      { extends: true, test: { name: "pure", include: PURE, isolate: false } },
    ],
  },
});
