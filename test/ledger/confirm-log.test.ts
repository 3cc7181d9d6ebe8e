import { expect, test } from "vitest";
import { logConfirmer } from "../../src/ledger/confirm-log.ts";
import type { Pool } from "../../src/postgres/pool.ts";

test("who asks while a confirmation is under way is answered by the next, which all of them share", async () => {
  const commits: PromiseWithResolvers<never[]>[] = [];
  const write: Pool["write"] = async <T>() => {
    const commit = Promise.withResolvers<never[]>();
    commits.push(commit);
    return (await commit.promise) as T;
  };
  const confirm = logConfirmer({ write });
  const first = confirm();
  await expect.poll(() => commits.length).toBe(1);
  const answered: string[] = [];
  const others = ["second", "third"].map((name) => confirm().then(() => answered.push(name)));
  commits[0]?.reject(new Error("no standby has it"));
  await expect(first).rejects.toThrow("no standby has it");
  await expect.poll(() => commits.length).toBe(2);
  expect(answered).toEqual([]);
  commits[1]?.resolve([]);
  await Promise.all(others);
  expect(commits).toHaveLength(2);
});
