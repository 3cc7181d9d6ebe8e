import { expect, test } from "vitest";
import { promisesOf, type Standby, waitsInVain, warningsOf } from "../../src/domain/durability.ts";

const standby = (name: string, sync: Standby["sync"]): Standby => ({ name, state: "streaming", sync, lagBytes: 0 });
const alone = {
  ...{ fsync: true, synchronousCommit: "on", synchronousStandbyNames: "" },
  ...{ standbys: [] as Standby[] | null, manager: null as "Patroni" | "CloudNativePG" | null },
};

test.each([
  ["without standbys a change survives a crash", {}, [false, false, 0, "crash"]],
  ["without fsync nothing does", { fsync: false }, [false, false, 0, "none"]],
  ["an asynchronous standby does not count", { standbys: [standby("b", "async")] }, [false, false, 0, "crash"]],
  [
    "with a standby that each commit is on it survives the machine",
    { synchronousStandbyNames: "b", standbys: [standby("b", "sync")] },
    [true, true, 1, "machine"],
  ],
  ["a standby that is waited for and away does not count", { synchronousStandbyNames: "b" }, [true, true, 0, "crash"]],
  [
    "a list without a number means one",
    { synchronousStandbyNames: "b, c", standbys: [standby("b", "sync"), standby("c", "potential")] },
    [true, true, 1, "machine"],
  ],
  [
    "of a quorum as many count as each commit waits for",
    { synchronousStandbyNames: "ANY 1 (b, c)", standbys: [standby("b", "quorum"), standby("c", "quorum")] },
    [true, true, 1, "machine"],
  ],
  [
    "of several to wait for those count that are there",
    { synchronousStandbyNames: "first 3 (*)", standbys: [standby("b", "sync"), standby("c", "sync")] },
    [true, true, 2, "machine"],
  ],
  [
    "a session that waits for its own disk only has no standby",
    { synchronousStandbyNames: "b", standbys: [standby("b", "sync")], synchronousCommit: "local" },
    [false, false, 0, "crash"],
  ],
  [
    "standbys that cannot be seen count as away",
    { synchronousStandbyNames: "b", standbys: null },
    [true, true, 0, "crash"],
  ],
  [
    "whether a cluster's manager gives up waiting cannot be seen",
    { synchronousStandbyNames: "b", standbys: [standby("b", "sync")], manager: "Patroni" as const },
    [true, null, 1, "machine"],
  ],
  [
    "Patroni's strict mode waits for any standby when all are lost",
    { synchronousStandbyNames: "*", manager: "Patroni" as const },
    [true, true, 0, "crash"],
  ],
])("%s", (_, change, [waits, strict, synchronousStandbys, survives]) => {
  expect(promisesOf({ ...alone, ...change })).toEqual({ waits, strict, synchronousStandbys, survives });
});

test.each([
  ["nothing is waited for", "", [], false],
  ["the standby is there", "b", [standby("b", "sync")], false],
  ["the standby is away", "b", [], true],
  ["one of two is away", "2 (b, c)", [standby("b", "sync")], true],
  ["standbys cannot be seen", "b", null, false],
])("whether commits wait in vain: %s", (_, synchronousStandbyNames, standbys, expected) => {
  const facts = { ...alone, synchronousStandbyNames, standbys };
  expect(waitsInVain({ ...facts, ...promisesOf(facts) })).toBe(expected);
});

test("every start without a synchronous standby says so", () => {
  expect(warningsOf({ waits: true, survives: "machine" })).toEqual([]);
  for (const state of [
    null,
    { waits: false, survives: "crash" as const },
    { waits: true, survives: "crash" as const },
    { waits: false, survives: "none" as const },
  ])
    expect(warningsOf(state)).toEqual([expect.stringContaining("synchronous standby")]);
});
