import { expect, test } from "vitest";
import { logConfirmer } from "../../src/ledger/confirm-log.ts";
import { OutcomeUnknown, type Pool } from "../../src/postgres/pool.ts";

test("who asks while a confirmation is under way is answered by the next, which all of them share", async () => {
  const commits: PromiseWithResolvers<{ hashes: string }[]>[] = [];
  const write: Pool["write"] = async <T>() => {
    const commit = Promise.withResolvers<{ hashes: string }[]>();
    commits.push(commit);
    return (await commit.promise) as T;
  };
  const confirm = logConfirmer({ write });
  const first = confirm({ seq: 1n, hash: "one" });
  await expect.poll(() => commits.length).toBe(1);
  const answered: string[] = [];
  const others = ["two", "three"].map((hash, place) =>
    confirm({ seq: BigInt(place + 2), hash }).then(() => answered.push(hash)),
  );
  // The database that confirms has another entry at this place.
  const lost = expect(confirm({ seq: 4n, hash: "four" })).rejects.toThrow(OutcomeUnknown);
  commits[0]?.reject(new Error("no standby has it"));
  await expect(first).rejects.toThrow("no standby has it");
  await expect.poll(() => commits.length).toBe(2);
  expect(answered).toEqual([]);
  commits[1]?.resolve([{ hashes: "two three another" }]);
  await Promise.all([...others, lost]);
  expect(commits).toHaveLength(2);
});
