import { expect, onTestFinished, test } from "vitest";
import { createTestDatabase } from "../support/postgres.ts";
import { measure, prepare, startAttack, startServer } from "./arena.ts";
import type { Kind } from "./attack.ts";

const DESCRIPTORS = 1024;

test("a server with 1,024 descriptors answers other clients and its probes whatever 1,200 connections of an address do", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const { connection } = database;
  await prepare(connection);
  const server = await startServer({ connection, perMinute: 100 }, DESCRIPTORS);
  onTestFinished(async () => void (await server.stop()));
  const { ports } = server;
  const attacks: [connections: number, addresses: number, kinds: Kind[], reasons: string[]][] = [
    [1200, 1, ["refused", "silent"], ["address"]],
    // As many addresses as it takes to fill the server: 614 connections, 122 an address.
    [
      1200,
      10,
      ["silent", "slowHeaders", "slowBody", "slowReader", "unreadStream", "flood", "malformed", "handshake"],
      ["address", "total", "rate", "malformed"],
    ],
  ];
  for (const [connections, addresses, kinds, reasons] of attacks) {
    const attack = await startAttack({ ports, connections, addresses, kinds, perSecond: 4000 });
    try {
      const seen = Object.values(await measure({ ports, clients: 2, seconds: 1 }));
      expect(seen.map(({ failures }) => failures)).toEqual([{}, {}, {}]);
      expect(Math.min(...seen.map(({ answers }) => answers))).toBeGreaterThan(0);
      // Attackers take only the time that the machine has left, so each kind of refusal comes when it can.
      const refusals = async () => Object.keys((await server.usage()).refused);
      await expect.poll(refusals, { interval: 500 }).toEqual(expect.arrayContaining(reasons));
    } finally {
      await attack.stop();
    }
  }
});
