import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // One database server for the whole run; every test file takes databases of its own from it.
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    // One more than two cores: many tests wait for a process, a commit or a browser.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What a browser shows comes when it comes; on a busy machine a second is short.
    expect: { poll: { timeout: 8000 } },
  },
});
