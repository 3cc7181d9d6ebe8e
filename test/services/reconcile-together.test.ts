import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReadSql } from "../../src/postgres/connect.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant();
  await tenant.deposit("usr_1", 100);
});
afterAll(() => tenant.close());

/** How often the server has read the transfers from end to end. */
async function scans(): Promise<number> {
  const { checks } = tenant.services;
  const flush = (sql: ReadSql) => sql`select pg_stat_force_next_flush()`;
  // On each of its connections.
  await Promise.all([checks.read(flush), checks.snapshot(flush), checks.snapshot(flush)]);
  await checks.read((sql) => sql`select 1`);
  const [row] = await tenant.sql`select seq_scan::int as scans from pg_stat_user_tables where relname = 'transfer'`;
  return row?.scans as number;
}

test("reconciliations asked for at once share a check, each with its own answer and entry", async () => {
  const before = await scans();
  await tenant.api().reconcile({});
  const once = (await scans()) - before;
  expect(once).toBeGreaterThan(0);
  const answers = await Promise.all(Array.from({ length: 12 }, () => tenant.api().reconcile({})));
  expect((await scans()) - before - once).toBeLessThanOrEqual(2 * once);
  expect(answers).toEqual(answers.map(() => expect.objectContaining({ ok: true, discrepancy: 0 })));
  const { entries } = await tenant.api().listAudit({ type: "reconcile.run" });
  expect(entries).toHaveLength(13);
});

test("a reconciliation asked for after a difference has appeared finds it, whatever is under way", async () => {
  const early = tenant.api().reconcile({});
  await tenant.sql`update account set balance_micro = balance_micro + 1000000 where id = 'wallet:usr_1'`;
  expect(await tenant.api().reconcile({})).toMatchObject({ ok: false, discrepancy: 1 });
  await early;
  await tenant.sql`update account set balance_micro = balance_micro - 1000000 where id = 'wallet:usr_1'`;
  expect(await tenant.api().reconcile({})).toMatchObject({ ok: true });
});

test("explanations asked for at once share a look at the ledger too", async () => {
  const before = await scans();
  await tenant.api().explainLedger({});
  const once = (await scans()) - before;
  expect(once).toBeGreaterThan(0);
  const answers = await Promise.all(Array.from({ length: 12 }, () => tenant.api().explainLedger({})));
  expect((await scans()) - before - once).toBeLessThanOrEqual(2 * once);
  for (const checks of answers) expect(checks.every(({ ok }) => ok)).toBe(true);
});
