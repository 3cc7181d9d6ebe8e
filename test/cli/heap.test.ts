import { expect, test } from "vitest";
import { nurseryMb } from "../../src/app/serve/heap.ts";
import { DEFAULT_MEMORY_MB } from "../../src/config/schema/server-limits.ts";

const GIB = 2 ** 30;

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
