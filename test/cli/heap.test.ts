import { afterEach, expect, test, vi } from "vitest";
import { endStart, heapEnvironment, limitHeap, nurseryMb, nurseryOptions } from "../../src/app/serve/heap.ts";
import { processEnvironment } from "../../src/config/environment.ts";
import { DEFAULT_MEMORY_MB } from "../../src/config/schema/server-limits.ts";

const GIB = 2 ** 30;
const MIB = 2 ** 20;

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test.each([
  ["the default favours speed", DEFAULT_MEMORY_MB, 16 * GIB, 64],
  ["more memory buys no larger one", 65_536, 64 * GIB, 64],
  ["less memory, a smaller one", 256, 16 * GIB, 32],
  ["the least that a file may state", 128, 16 * GIB, 2],
  ["half of a small machine counts, whatever the file says", DEFAULT_MEMORY_MB, 0.5 * GIB, 32],
  ["a container of 256 MiB", DEFAULT_MEMORY_MB, 0.25 * GIB, 2],
])("the nursery follows from server.memoryMb and the machine: %s", (_, memoryMb, machineBytes, expected) => {
  expect(nurseryMb(memoryMb, machineBytes)).toBe(expected);
});

test("a server gives back what its work left behind once no request came for a while, and only if it is worth it", () => {
  vi.useFakeTimers();
  const gc = vi.fn();
  vi.stubGlobal("gc", gc);
  vi.spyOn(process, "cpuUsage").mockReturnValue({ user: 0, system: 0 });
  const resident = vi.spyOn(process.memoryUsage, "rss").mockReturnValue(90 * MIB);
  let answered = 0;
  endStart(() => answered);
  expect(gc).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(60_000);
  expect(gc).toHaveBeenCalledTimes(1);
  resident.mockReturnValue(200 * MIB);
  for (let look = 0; look < 5; look++) {
    answered += 1;
    vi.advanceTimersByTime(5000);
  }
  expect(gc).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(5000);
  expect(gc).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(60_000);
  expect(gc).toHaveBeenCalledTimes(2);
});

test.each([
  ["", "1"],
  ["/var/cache/node", undefined],
])("a server does without a compile cache unless the environment names its directory: %o", (directory, disabled) => {
  vi.stubEnv("NODE_COMPILE_CACHE", directory);
  expect(heapEnvironment().NODE_DISABLE_COMPILE_CACHE).toBe(disabled);
});

test("programs that a server starts do not inherit the server's settings of glibc, but those of the operator", () => {
  const names = ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"];
  for (const name of names) vi.stubEnv(name, undefined);
  const own = heapEnvironment();
  // The process as it is after it has replaced itself.
  vi.stubEnv("NODE_OPTIONS", nurseryOptions(DEFAULT_MEMORY_MB).join(" "));
  const inherited = (environment: Record<string, string>) => {
    for (const name of names) vi.stubEnv(name, environment[name]);
    limitHeap(() => []);
    return processEnvironment().GLIBC_TUNABLES;
  };
  expect(own.GLIBC_TUNABLES).toBe("glibc.malloc.mmap_threshold=32768");
  expect(inherited(own)).toBeUndefined();
  const asked = "glibc.malloc.top_pad=65536";
  vi.stubEnv("GLIBC_TUNABLES", asked);
  expect(heapEnvironment().GLIBC_TUNABLES).toBe(asked);
  expect(inherited({ GLIBC_TUNABLES: asked })).toBe(asked);
});
