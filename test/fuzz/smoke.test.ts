import { describe, expect, inject, test } from "vitest";
import type { Random } from "../model/random.ts";
import { fileTargets } from "./files.ts";
import { httpTargets } from "./http.ts";
import { fuzz } from "./run.ts";
import type { Target } from "./target.ts";

const files = fileTargets();

async function few(target: Target, cases: number): Promise<void> {
  const { found, done } = await fuzz({ ...target, guided: false }, { seed: 1, cases });
  expect(found && `${found.error.stack}\n${found.input.toString("latin1")}`).toBeUndefined();
  expect(done).toBe(cases);
}

test.each(files.map((target) => [target.name, target] as const))("a few cases of %s", async (_name, target) => {
  await few(target, 20);
});

test("a few requests, webhooks and bytes on a socket, and the ledger holds", async () => {
  const targets = await httpTargets(inject("postgres"));
  for (const target of targets) await few(target, 20);
  for (const target of targets) await target.close?.();
});

describe("the fuzzer itself", () => {
  const target = (run: Target["run"]): Target => ({
    name: "planted",
    concurrency: 2,
    guided: false,
    seeds: [Buffer.from("ok")],
    make: (random: Random) => Buffer.from(String(random.integer(0, 9))),
    run,
  });

  test("makes the same cases of a seed, and finds what is thrown with the input that shows it", async () => {
    const seen: string[][] = [[], []];
    for (const cases of seen) {
      const { found } = await fuzz(
        target((input) => {
          cases.push(input.toString());
          if (input.toString() === "7") throw new Error("planted");
        }),
        { seed: 4, cases: 200 },
      );
      expect([found?.input.toString(), found?.error.message]).toEqual(["7", "planted"]);
    }
    expect(seen[1]).toEqual(seen[0]);
  });

  test("finds an unhandled rejection", async () => {
    let planted = false;
    const { found } = await fuzz(
      target(async () => {
        if (!planted) Promise.reject(new Error("planted"));
        planted = true;
        await new Promise(setImmediate);
      }),
      { seed: 4, cases: 200 },
    );
    expect(found?.error.message).toContain("an unhandled rejection: Error: planted");
  });
});
