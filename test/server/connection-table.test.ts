import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { connectionLimits } from "../../src/domain/access/connection-limits.ts";
import { ConnectionTable, type Place } from "../../src/server/connections/connection-table.ts";
import { descriptorLimit, softLimitOf } from "../../src/server/connections/descriptors.ts";

const ADDRESSES = ["a", "b", "c", "d"];
type Step = { do: "add" | "remove" | "busy" | "idle"; address: string; which: number };

const steps = fc.array(
  fc.record<Step>({
    do: fc.constantFrom("add", "add", "remove", "busy", "idle"),
    address: fc.constantFrom(...ADDRESSES),
    which: fc.nat(20),
  }),
  { maxLength: 200 },
);

describe("the table of connections", () => {
  test("knows at each moment the longest idle ones of the addresses with most, as a search through all finds them", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const table = new ConnectionTable<number>();
        /** Connections with the moment since which they are idle. */
        const open: { place: Place<number>; id: number; idleSince: number | undefined }[] = [];
        for (const [now, step] of all.entries()) {
          const place = step.do === "add" ? table.add(step.address, now) : undefined;
          const chosen = open[step.which % open.length];
          if (place) open.push({ place, id: now, idleSince: now });
          else if (chosen && step.do === "remove") {
            table.remove(chosen.place);
            open.splice(open.indexOf(chosen), 1);
          } else if (chosen && step.do === "busy") {
            table.setBusy(chosen.place);
            chosen.idleSince = undefined;
          } else if (chosen) {
            table.setIdle(chosen.place);
            chosen.idleSince ??= now;
          }
          const counts = ADDRESSES.map((address) => open.filter(({ place }) => place.address === address).length);
          expect(ADDRESSES.map((address) => table.countOf(address))).toEqual(counts);
          expect(table.size).toBe(open.length);
          const candidates = ADDRESSES.filter((_, index) => counts[index] === Math.max(...counts)).flatMap(
            (address) => {
              const idle = open.filter(({ place, idleSince }) => place.address === address && idleSince !== undefined);
              return idle.sort((one, other) => (one.idleSince ?? 0) - (other.idleSince ?? 0)).slice(0, 1);
            },
          );
          const found = table.longestIdleOfMost();
          if (candidates.length === 0) expect(found).toBeUndefined();
          else expect(candidates.map(({ id }) => id)).toContain(found);
        }
      }),
      { seed: 12, numRuns: 200 },
    );
  });

  test("takes in and gives up 100,000 connections of one address, the oldest first, without walking over them", () => {
    const table = new ConnectionTable<number>();
    const places = Array.from({ length: 100_000 }, (_, id) => table.add("a", id));
    for (const place of places) {
      expect(table.longestIdleOfMost()).toBe(place.owner);
      table.remove(place);
    }
    expect(table.size).toBe(0);
  });
});

describe("the limits of connections", () => {
  test("go by the descriptors: 60 % of them and at most 10,000, a fifth of that an address and at least 32", () => {
    expect(connectionLimits({}, 1024)).toEqual({
      connections: 614,
      connectionsPerAddress: 122,
      streams: 307,
      streamsPerAddress: 100,
      streamsPerUser: 10,
      headersSeconds: 10,
      bodySeconds: 30,
      idleSeconds: 65,
      writeSeconds: 20,
    });
    expect(connectionLimits({}, 1_048_576)).toMatchObject({ connections: 10_000, connectionsPerAddress: 2000 });
    expect(connectionLimits({}, Number.POSITIVE_INFINITY)).toMatchObject({ connections: 10_000, streams: 5000 });
    expect(connectionLimits({}, 128)).toMatchObject({ connections: 76, connectionsPerAddress: 32 });
  });

  test("are those stated, but for connections that would leave the database no descriptor", () => {
    const stated = { connections: 500, connectionsPerAddress: 7, streams: 3, writeSeconds: 1 };
    expect(connectionLimits(stated, 1024)).toMatchObject(stated);
    expect(connectionLimits({ connections: 500 }, 1024)).toMatchObject({ connectionsPerAddress: 100, streams: 250 });
    expect(connectionLimits({ connections: 5000 }, 1024)).toMatchObject({ connections: 819 });
  });

  test("read the limit of this process, which Node has raised", () => {
    expect(descriptorLimit()).toBeGreaterThanOrEqual(256);
    const limits = "Limit            Soft Limit  Hard Limit  Units\nMax open files   1024   4096   files\n";
    expect(softLimitOf(limits)).toBe(1024);
    expect(softLimitOf(limits.replace("1024", "unlimited"))).toBe(Number.POSITIVE_INFINITY);
    expect(softLimitOf("")).toBeUndefined();
  });
});
