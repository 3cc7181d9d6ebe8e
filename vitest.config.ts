import { join, relative, sep } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { OWN_FILES, PURE_FOLDERS, RARE, RARE_SHARED, SHARED_FOLDERS } from "./test/support/projects.ts";

const PURE = PURE_FOLDERS.map((folder) => `test/${folder}/**/*.test.ts`);
const SHARED = SHARED_FOLDERS.map((folder) => `test/${folder}/**/!(${OWN_FILES.join("|")}).test.ts`);
const TESTS = join(import.meta.dirname, "test");

/**
 * The two files of the model test take longest, so they start first. Each project's files follow each other, because a shared
 * process ends as soon as the next file is not for it, and those with a process of their own come first, because they take
 * longer; shared folders come in the order of their list. Otherwise the order is by duration or size, as vitest has it.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = ["rare", "rare-shared", "own", ...SHARED_FOLDERS, "pure"];
    const place = ({ moduleId, project }: TestSpecification) => {
      if (moduleId.includes("test/model/seeds-")) return -1;
      const [folder = ""] = relative(TESTS, moduleId).split(sep);
      return places.indexOf(project.name === "shared" ? folder : project.name);
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}

/** One database server for the whole run; every test file takes databases of its own from it. */
const globalSetup = ["test/support/global-setup.ts"];

export default defineConfig({
  // Node's own conditions of resolution, and none of a bundler's: tests load what the installed program loads.
  plugins: [
    {
      name: "conditions-of-node",
      configResolved: ({ ssr }) => {
        ssr.resolve = { ...ssr.resolve, conditions: ["node"] };
      },
    },
  ],
  test: {
    pool: "forks",
    // Node loads the modules itself, as it does for the program: no transformation, no wrapper around each import.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    reporters: ["default", "./test/support/skipped-tests.ts"],
    // Two more than two cores: many tests wait for a process, a commit or a browser.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    env: {
      // A locale that is not installed makes bash and others complain among what tests read.
      LC_ALL: "C",
      // Workers and the commands that tests run as processes share what V8 compiled, as an installed program does: half of what
      // starting one costs. The directory outlives the run, because processes still write there while it ends.
      NODE_COMPILE_CACHE: join(TESTS, "output/compile-cache"),
    },
    // Bounds for what hangs, not for what is slow: a busy machine may take twenty times what a quiet one does.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 180_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "own",
          include: ["test/**/*.test.ts"],
          exclude: [...PURE, ...SHARED, ...RARE, ...RARE_SHARED],
          globalSetup,
        },
      },
      {
        extends: true,
        test: { name: "shared", include: SHARED, exclude: [...RARE, ...RARE_SHARED], isolate: false, globalSetup },
      },
      { extends: true, test: { name: "rare", include: RARE, globalSetup } },
      { extends: true, test: { name: "rare-shared", include: RARE_SHARED, isolate: false, globalSetup } },
      { extends: true, test: { name: "pure", include: PURE, exclude: RARE_SHARED, isolate: false } },
    ],
  },
});
