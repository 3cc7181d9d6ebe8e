import { expect, test } from "vitest";
import { NO_ORIGIN, type Origin, SECURITY_EVENTS } from "../../src/domain/access/security.ts";
import type { SecurityRow } from "../../src/ledger/unchained/security-log.ts";
import { type SecurityEntry, SecurityLog } from "../../src/services/security/security-log.ts";

const from = (address: string, more: Partial<Origin> = {}): Origin => ({ ...NO_ORIGIN, address, ...more });
const MINUTE = 60_000;

/** A log over a table in memory, by a clock that stands still until it is moved. */
function newLog() {
  const state = { now: 1_800_000_000_000, away: false, statements: 0 };
  const rows = new Map<string, SecurityRow>();
  const told: SecurityEntry[] = [];
  let dropped = 0;
  const log = new SecurityLog({
    now: () => state.now,
    write: async (batch) => {
      state.statements += 1;
      if (state.away) throw new Error("away");
      for (const row of batch) rows.set(row.id, { ...row, count: row.count + (rows.get(row.id)?.count ?? 0) });
    },
  });
  log.listen({
    entry: (entry) => told.push(entry),
    dropped: (events) => {
      dropped += events;
    },
  });
  return { log, state, rows, told, dropped: () => dropped };
}

test("300 failures of one address in a minute are one entry that counts them", async () => {
  const { log, rows, told } = newLog();
  for (let attempt = 0; attempt < 300; attempt++) {
    log.note("auth.failed", "key", from("192.0.2.1", { fingerprint: `fp:0000000${attempt % 10}` }));
    if (attempt === 100) await log.flush();
  }
  await log.stop();
  expect([...rows.values()]).toMatchObject([{ event: "auth.failed", reason: "key", address: "192.0.2.1", count: 300 }]);
  expect(told).toMatchObject([{ count: 300 }]);
});

test("another detail of a reason is another entry, within the bounds of the reason", async () => {
  const { log, rows } = newLog();
  for (let attempt = 0; attempt < 1200; attempt++)
    log.note("auth.failed", "token", from(`192.0.2.${attempt}`), attempt % 2 ? "signature" : "exp-past");
  await log.stop();
  const others = [...rows.values()].filter(({ address }) => address === "others");
  expect(others.map(({ detail, count }) => [detail, count]).toSorted()).toEqual([
    ["exp-past", 100],
    ["signature", 100],
  ]);
  expect(rows.size).toBe(1002);
});

test("another address, reason or minute is another entry", async () => {
  const { log, state, rows } = newLog();
  log.note("auth.failed", "key", from("192.0.2.1"));
  log.note("auth.failed", "key", from("192.0.2.2"));
  log.note("auth.failed", "token", from("192.0.2.1"));
  state.now += MINUTE;
  log.note("auth.failed", "key", from("192.0.2.1"));
  await log.stop();
  expect(rows.size).toBe(4);
});

test("a use of an admin key is told once per key, address and hour", async () => {
  const { log, state, rows } = newLog();
  const use = (address: string, fingerprint: string) => log.note("key.used", "admin", from(address, { fingerprint }));
  for (let minute = 0; minute < 60; minute++) {
    use("192.0.2.1", "fp:00000001");
    use("192.0.2.1", "fp:00000002");
    use("192.0.2.2", "fp:00000001");
    await log.flush();
    state.now += MINUTE - 1;
  }
  await log.stop();
  expect([...rows.values()].map(({ count }) => count)).toEqual([1, 1, 1]);
});

test("10,000 addresses leave 1,000 entries and one that counts the others, and push out nothing else", async () => {
  const { log, state, rows } = newLog();
  for (let round = 0; round < 3; round++)
    for (let n = 0; n < 10_000; n++) log.note("auth.failed", "key", from(`198.51.${n >> 8}.${n & 255}`));
  log.note("session.revoked", "operator", from("192.0.2.9"));
  await log.flush();
  const others = [...rows.values()].filter(({ address }) => address === "others");
  expect(rows.size).toBe(1_002);
  expect(others).toMatchObject([{ count: 27_000, fingerprint: null }]);
  expect([...rows.values()].reduce((sum, { count }) => sum + count, 0)).toBe(30_001);
  expect(state.statements).toBeLessThanOrEqual(3);
  // In the next minute there is room for ten more.
  state.now += MINUTE;
  for (let n = 0; n < 10_000; n++) log.note("auth.failed", "key", from(`198.51.${n >> 8}.${n & 255}`));
  await log.flush();
  expect(rows.size).toBe(1_002 + 11);
  await log.stop();
});

test("while the database is away a bounded backlog waits, and what is lost of it is counted", async () => {
  const { log, state, rows, dropped } = newLog();
  state.away = true;
  let noted = 0;
  for (let minute = 0; minute < 300; minute++) {
    for (const event of SECURITY_EVENTS)
      for (let n = 0; n < 12; n++) {
        log.note(event, "x", from(`198.51.${minute & 255}.${n}`));
        noted += event === "key.used" && n === 11 ? 0 : 1;
      }
    if (minute % 50 === 0) await log.flush().catch(() => undefined);
    state.now += MINUTE;
  }
  expect(log.size).toBeLessThanOrEqual(10_000);
  state.away = false;
  await log.flush();
  const kept = [...rows.values()].reduce((sum, { count }) => sum + count, 0);
  expect(dropped()).toBeGreaterThan(0);
  expect(kept + dropped()).toBeLessThanOrEqual(noted + 300);
  expect(kept).toBeGreaterThan(0);
  await log.stop();
});
