import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { readerOf } from "../../src/postgres/pool.ts";
import { KeyRing } from "../../src/server/access/key-ring.ts";
import { ADMIN_KEY } from "./support/harness.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

let tenant: ServedTenant;
let reader: Sql;
let other: Sql;
beforeAll(async () => {
  tenant = await serveTenant();
  const { connection } = tenant.backend.database;
  reader = connect(connection, { name: "ring", max: 2 });
  other = connect(connection, { name: "other", max: 1 });
});
afterAll(async () => {
  await reader.end({ timeout: 5 });
  await other.end({ timeout: 5 });
  await tenant.close();
});

test("whoever waits for the keys while this process changes them decides by those after the change", async () => {
  const ring = new KeyRing(readerOf(reader), tenant.services.isSealed);
  await other.unsafe("begin");
  await other.unsafe("lock table api_key in access exclusive mode");
  const waiting = ring.ready();
  ring.forget();
  await other.unsafe("commit");
  await waiting;
  expect(ring.find(ADMIN_KEY)).toMatchObject({ name: "ops" });
});
