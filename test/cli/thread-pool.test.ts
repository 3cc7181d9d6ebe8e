import { createHook } from "node:async_hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepThreadPoolAwake } from "../../src/cli/thread-pool.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

test("while a command runs, its thread pool is signalled every second, so that an operation whose signal got lost is found", async () => {
  let operations = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === "FSREQCALLBACK") operations += 1;
    },
  }).enable();
  try {
    const letSleep = keepThreadPoolAwake();
    vi.advanceTimersByTime(3000);
    expect(operations).toBe(3);
    letSleep();
    vi.advanceTimersByTime(3000);
    expect(operations).toBe(3);
  } finally {
    hook.disable();
  }
});
