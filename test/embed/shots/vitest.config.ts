import { join } from "node:path";
import { defineConfig } from "vitest/config";

const ROOT = join(import.meta.dirname, "../../..");

/** Borrows the tests' database and browser; the names keep these files out of `npm test`. */
export default defineConfig({
  root: ROOT,
  test: {
    include: ["test/{console,embed}/{shots,speed}/*.run.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    env: { LC_ALL: "C" },
    testTimeout: 900_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
