import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { afterConflicts } from "../../src/postgres/conflicts.ts";

function told(code: string): Error {
  return Object.assign(Object.create(postgres.PostgresError.prototype), { severity: "ERROR", code, message: "told" });
}

/** Runs a write that fails so many times, with pauses that are only counted. */
async function run(code: string, failures: number): Promise<{ attempts: number; pauses: number[] }> {
  let attempts = 0;
  const pauses: number[] = [];
  const write = async () => {
    attempts += 1;
    if (attempts <= failures) throw told(code);
  };
  await afterConflicts(write, { random: () => 0.5, wait: async (ms) => pauses.push(ms) }).catch(() => undefined);
  return { attempts, pauses };
}

describe("a write that met another one", () => {
  test.each(["40001", "40P01"])("by %s is repeated, each time after a longer pause", async (code) => {
    expect(await run(code, 2)).toEqual({ attempts: 3, pauses: [10, 20] });
  });

  test("is sent five times at the most", async () => {
    expect((await run("40001", 99)).attempts).toBe(5);
  });

  test.each(["40003", "23505", "57014", "57P01", "08006"])("is not repeated after %s", async (code) => {
    expect((await run(code, 1)).attempts).toBe(1);
  });
});
