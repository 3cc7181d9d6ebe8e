import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Occupant, Rooms } from "../../src/app/house/rooms.ts";
import { FairQueue } from "../../src/server/shared-port/fair-queue.ts";
import { FairTurns } from "../../src/server/shared-port/fair-turns.ts";

test("a tenant's request waits for a few of another one's, however many that one sends", async () => {
  const turns = new FairTurns<string>();
  const begun: string[] = [];
  const ask = (tenant: string) => turns.begin(tenant, () => begun.push(tenant));
  ask("small");
  for (let sent = 0; sent < 1000; sent += 1) ask("flood");
  ask("small");
  expect(begun.filter((tenant) => tenant === "small")).toHaveLength(2);
  expect(begun.length).toBeLessThan(20);
  for (let turns = 0; turns < 10; turns += 1) {
    await turn();
    const before = begun.length;
    ask("small");
    expect(begun.slice(before)).toEqual(["small"]);
  }
  while (begun.length < 1012) await turn();
  expect(begun.filter((tenant) => tenant === "flood")).toHaveLength(1000);
});

test("a turn is no longer for many tenants than for few: they share what begins in it", async () => {
  const turns = new FairTurns<number>();
  const begun: number[] = [];
  for (let tenant = 0; tenant < 8; tenant += 1)
    for (let sent = 0; sent < 100; sent += 1) turns.begin(tenant, () => begun.push(tenant));
  while (begun.length < 300) {
    const before = begun.length;
    await turn();
    const inTurn = begun.slice(before);
    expect(inTurn).toHaveLength(16);
    expect(new Set(inTurn).size).toBe(8);
  }
});

test("what waits of one tenant is behind one of another's at most, and a full queue drops of the one that has most", () => {
  const queue = new FairQueue<string, string>();
  for (let sent = 0; sent < 1000; sent += 1) queue.add("flood", `flood ${sent}`);
  for (const item of ["first", "second"]) queue.add("small", item);
  const taken = Array.from({ length: 5 }, () => queue.take());
  expect(taken).toEqual(["flood 0", "first", "flood 1", "second", "flood 2"]);
  expect(queue.drop()).toBe("flood 999");
  queue.add("small", "third");
  expect([queue.take(), queue.take()]).toEqual(["flood 3", "third"]);
  while (queue.take() !== undefined);
  expect([queue.size, queue.drop()]).toEqual([0, undefined]);
});

test("a tenant that does not end keeps one room, and another one makes room instead", async () => {
  const rooms = new Rooms(2);
  const hung: Occupant & { quietSince: number | undefined } = {
    quietSince: 1,
    close: () => {
      hung.quietSince = undefined;
      return new Promise(() => {});
    },
  };
  await rooms.take("db:5432", hung);
  const quiet: Occupant = { quietSince: 2, close: async () => leave() };
  const leave = await rooms.take("db:5432", quiet);
  await rooms.take("db:5432", { quietSince: undefined, close: async () => {} });
  expect(hung.quietSince).toBeUndefined();
});

test("where all rooms are taken, the tenant asked for longest ago makes room, and openings wait in order while none can", async () => {
  const rooms = new Rooms(2);
  const closed: string[] = [];
  const guest = (name: string, quietSince: number | undefined): Occupant & { leave: () => void } => {
    const occupant = {
      quietSince,
      leave: () => {},
      close: async () => {
        closed.push(name);
        occupant.quietSince = undefined;
        occupant.leave();
      },
    };
    return occupant;
  };
  const enter = async (occupant: Occupant & { leave: () => void }) => {
    occupant.leave = await rooms.take("db:5432", occupant);
  };
  const [first, second, third] = [guest("first", 2), guest("second", 1), guest("third", undefined)];
  for (const each of [first, second, third]) await enter(each);
  expect(closed).toEqual(["second"]);
  await rooms.take("other:5432", guest("elsewhere", undefined));
  const fourth = guest("fourth", undefined);
  await enter(fourth);
  expect(closed).toEqual(["second", "first"]);
  const order: string[] = [];
  const waiting = ["fifth", "sixth"].map((name) => enter(guest(name, undefined)).then(() => order.push(name)));
  await turn();
  expect(order).toEqual([]);
  third.leave();
  await waiting[0];
  expect(order).toEqual(["fifth"]);
  fourth.leave();
  await Promise.all(waiting);
  expect(order).toEqual(["fifth", "sixth"]);
});
