import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
let holder: Sql;
beforeAll(async () => {
  tenant = await openTestTenant();
  holder = connect(tenant.database.connection, { name: "holder", max: 1 });
  await tenant.sql`
    insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
    values ('crm', 'evt_1', 1, 'order.filled', 'dead', 8, 0, 0)`;
});
afterAll(async () => {
  await holder.end({ timeout: 5 });
  await tenant.close();
});

test("an operation past the sequencer whose connection is lost is not sent again, and its caller hears that the outcome is not known", async () => {
  // The row is held, so that the connection can be ended in the middle of the statement.
  await holder.unsafe("begin");
  await holder`select 1 from webhook_delivery for update`;
  const told = tenant
    .api()
    .replayWebhook({ id: "evt_1" })
    .catch((error: unknown) => error);
  await vi.waitFor(
    async () => {
      const ended = await tenant.sql`
        select pg_terminate_backend(pid, 10000) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%update webhook_delivery%'`;
      expect(ended).toHaveLength(1);
    },
    { timeout: 60_000, interval: 10 },
  );
  expect(await told).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  await holder.unsafe("rollback");
  const [row] = await tenant.sql`select status, attempts from webhook_delivery`;
  expect(row).toEqual({ status: "dead", attempts: 8 });
  expect(await tenant.api().replayWebhook({ id: "evt_1" })).toMatchObject({ replayed: [{ status: "pending" }] });
});
