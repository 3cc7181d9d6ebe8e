import { expect, test } from "vitest";
import { connect } from "../../src/postgres/connect.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { configOf } from "../engine/world.ts";
import { createTestDatabase } from "../support/postgres.ts";

test.each([
  ["off", "on"],
  ["local", "local"],
])("in a database whose commits are %s for everybody, those of the ledger are %s", async (setting, expected) => {
  const database = await createTestDatabase();
  const owner = connect(database.connection, { name: "owner", max: 1 });
  const name = database.connection.database;
  try {
    await owner.unsafe(`alter database ${name} set synchronous_commit = ${setting}`);
    // The table tells how the session that writes to it commits.
    await owner`alter table audit add column commits text default current_setting('synchronous_commit')`;
    const services = await openTenant({ tenantId: "acme", connection: database.server, auditSecret: "a secret" });
    await services.sequencer.submit({ command: configOf({}), actor: "cli:test" });
    await services.close();
    expect(await owner`select distinct commits from audit`).toEqual([{ commits: expected }]);
  } finally {
    await owner.end({ timeout: 5 });
    await database.drop();
  }
});
