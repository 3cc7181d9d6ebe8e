import { expect, test } from "vitest";
import { createTestDatabase } from "../support/postgres.ts";
import { measure, prepare, startAttack, startServer } from "./arena.ts";
import type { Kind } from "./attack.ts";

const DESCRIPTORS = 1024;

test("a server with 1,024 descriptors answers other clients and its probes whatever 1,200 connections of an address do", async () => {
  const database = await createTestDatabase();
  try {
    const { connection } = database;
    await prepare(connection);
    const server = await startServer({ connection, perMinute: 100 }, DESCRIPTORS);
    const attacks: [connections: number, addresses: number, kinds: Kind[]][] = [
      [1200, 1, ["refused", "silent"]],
      // As many addresses as it takes to fill the server: 614 connections, 122 an address.
      [
        1200,
        10,
        ["silent", "slowHeaders", "slowBody", "slowReader", "unreadStream", "flood", "malformed", "handshake"],
      ],
    ];
    for (const [connections, addresses, kinds] of attacks) {
      const { ports } = server;
      const attack = await startAttack({ ports, connections, addresses, kinds, perSecond: 4000 });
      const seen = Object.values(await measure({ ports, clients: 2, seconds: 1 }));
      await attack.stop();
      expect(seen.map(({ failures }) => failures)).toEqual([{}, {}, {}]);
      expect(Math.min(...seen.map(({ answers }) => answers))).toBeGreaterThan(0);
    }
    const { refused } = await server.stop();
    for (const reason of ["address", "total", "rate", "malformed"]) expect(refused[reason]).toBeGreaterThan(0);
  } finally {
    await database.drop();
  }
});
