import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { connectionLimits } from "../../src/domain/access/connection-limits.ts";
import { ClientAddresses } from "../../src/server/client-address.ts";
import { ConnectionGroup } from "../../src/server/connections/connection-group.ts";
import { descriptorLimit } from "../../src/server/connections/descriptors.ts";
import { workTime } from "../support/own-time.ts";

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

/** A connection, and the moment since which it is idle. */
interface Member {
  address: string;
  idleSince: number | undefined;
}

function emptyGroup(): ConnectionGroup<Member> {
  const limits = connectionLimits({}, 1024);
  return new ConnectionGroup({ limits, addresses: new ClientAddresses([]), onRefused: () => {} });
}

describe("connections that are counted together", () => {
  test("at each moment the longest idle ones of the addresses with most are those that a search through all finds", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const group = emptyGroup();
        const open: Member[] = [];
        for (const [now, step] of all.entries()) {
          const chosen = open[step.which % open.length];
          if (step.do === "add") {
            const member = { address: step.address, idleSince: now };
            group.add(member);
            open.push(member);
          } else if (chosen && step.do === "remove") {
            group.remove(chosen);
            open.splice(open.indexOf(chosen), 1);
          } else if (chosen && step.do === "busy") {
            group.setBusy(chosen);
            chosen.idleSince = undefined;
          } else if (chosen) {
            group.setIdle(chosen);
            chosen.idleSince ??= now;
          }
          expect(group.size).toBe(open.length);
          const byAddress = ADDRESSES.map((address) => open.filter((one) => one.address === address));
          const most = Math.max(...byAddress.map(({ length }) => length));
          const candidates = byAddress
            .filter(({ length }) => length === most)
            .flatMap((ofOne) => {
              const idle = ofOne.filter(({ idleSince }) => idleSince !== undefined);
              return idle.sort((one, other) => (one.idleSince ?? 0) - (other.idleSince ?? 0)).slice(0, 1);
            });
          const found = group.longestIdleOfMost();
          if (candidates.length === 0) expect(found).toBeUndefined();
          else expect(candidates).toContain(found);
        }
      }),
      { seed: 12, numRuns: 200 },
    );
  });

  test("10,000 connections of one address go one by one, the oldest first, in less than a second", () => {
    const group = emptyGroup();
    const members = Array.from({ length: 10_000 }, (): Member => ({ address: "a", idleSince: 0 }));
    for (const member of members) group.add(member);
    const worked = workTime();
    for (const member of members) {
      expect(group.longestIdleOfMost() === member).toBe(true);
      group.remove(member);
    }
    expect(worked()).toBeLessThan(1000);
    expect(group.size).toBe(0);
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
    const soft = execFileSync("/bin/sh", ["-c", "ulimit -n"], { encoding: "utf8" }).trim();
    expect(descriptorLimit()).toBe(soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft));
  });
});
