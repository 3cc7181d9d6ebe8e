import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { confirmLog } from "../../../src/ledger/confirm-log.ts";
import { readerOf } from "../../../src/postgres/pool.ts";
import { AuditTail } from "../../../src/services/audit/audit-tail.ts";
import { openTestTenant, type TestTenant } from "../../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant();
});
afterAll(() => tenant.close());

test("followers never get an entry that the next primary lacks, although that primary confirms the log", async () => {
  const { sql } = tenant;
  const errors: unknown[] = [];
  let afterRead = async () => {};
  const tail = new AuditTail(
    readerOf(sql),
    () => true,
    (error) => errors.push(error),
    {
      acknowledged: () => 0n,
      confirm: async (entry) => {
        await afterRead();
        await confirmLog({ write: async (statement) => statement(sql) }, entry);
      },
    },
  );
  const shown: string[] = [];
  const { position, stop } = await tail.follow((entries) => shown.push(...entries.map(({ hash }) => hash)));
  // Between the read of the new entry and its confirmation the standby is promoted, whose log has no such entry.
  afterRead = async () => {
    afterRead = async () => {};
    await sql`delete from audit where seq = ${String(position + 1n)}`;
  };
  await tenant.api().reconcile({});
  const [lost] = await sql`select * from audit where seq = ${String(position + 1n)}`;
  tail.wake();
  await vi.waitFor(() => expect(errors).toHaveLength(1), { timeout: 60_000 });
  expect(shown).toEqual([]);
  // The new primary gives the place to another entry.
  const replaced = { ...lost, hash: "e".repeat(64) };
  await sql`insert into audit ${sql(replaced as never)}`;
  await vi.waitFor(() => expect(shown).toEqual([replaced.hash]), { timeout: 60_000 });
  stop();
  tail.close();
});
