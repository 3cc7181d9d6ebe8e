import { describe, expect, test } from "vitest";
import { batchReads } from "../../src/services/read-batch.ts";

/** A source whose answers the test releases one by one. */
function controlledSource() {
  const asked: { keys: readonly string[]; answer: (failure?: Error) => void }[] = [];
  const load = (keys: readonly string[]) =>
    new Promise<Map<string, string>>((resolve, reject) => {
      const answer = (failure?: Error) =>
        failure
          ? reject(failure)
          : resolve(new Map(keys.filter((key) => key !== "none").map((key) => [key, `row of ${key}`])));
      asked.push({ keys, answer });
    });
  return { asked, load };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("reads that form batches", () => {
  test("keys asked for while a query is in flight wait for the next one, each once", async () => {
    const { asked, load } = controlledSource();
    const read = batchReads(load);
    const first = read("a");
    await settled();
    const later = [read("b"), read("c"), read("b"), read("none")];
    await settled();
    expect(asked.map(({ keys }) => keys)).toEqual([["a"]]);
    asked[0]?.answer();
    expect(await first).toBe("row of a");
    await settled();
    expect(asked.map(({ keys }) => keys)).toEqual([["a"], ["b", "c", "none"]]);
    asked[1]?.answer();
    expect(await Promise.all(later)).toEqual(["row of b", "row of c", "row of b", undefined]);
  });

  test("no caller is answered by a query that started before its question", async () => {
    const { asked, load } = controlledSource();
    const read = batchReads(load);
    const early = read("a");
    await settled();
    const late = read("a");
    await settled();
    asked[0]?.answer();
    await early;
    await settled();
    expect(asked).toHaveLength(2);
    asked[1]?.answer();
    expect(await late).toBe("row of a");
  });

  test("a query that fails fails its own batch, and the next one goes ahead", async () => {
    const { asked, load } = controlledSource();
    const read = batchReads(load);
    const failing = read("a");
    await settled();
    const next = read("b");
    asked[0]?.answer(new Error("away"));
    await expect(failing).rejects.toThrow("away");
    await settled();
    asked[1]?.answer();
    expect(await next).toBe("row of b");
  });
});
