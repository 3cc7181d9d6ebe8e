import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { followMarketSearch } from "../../src/ledger/market-search.ts";
import { GRANTS } from "../../src/ledger/schema.ts";
import { claimLeases } from "../../src/ledger/unchained/leases.ts";
import { recordTicks } from "../../src/ledger/unchained/oracle-ticks.ts";
import * as queue from "../../src/ledger/unchained/webhook-queue.ts";
import { enableReceiver, replayDeliveries } from "../../src/ledger/unchained/webhook-replay.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { migrate, readMigrations } from "../../src/postgres/migrate.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { configOf } from "../engine/world.ts";
import { createTestDatabase } from "../support/postgres.ts";

const KEY = auditKey("an audit secret of the tests, long enough");
const tick = { source: "s", symbol: "x", observedAt: 1, price: "1", conf: null, receivedAt: 1, confirmedAt: 1 };
const claim = { eventId: "evt_1", seq: 1n, attempts: 1 };
const delivery = { eventId: "evt_1", seq: 1n, type: "audit.anchored", createdAt: 1 };
const failed = { status: "pending", nextAttemptAt: 1, lastStatus: 500, lastExcerpt: "" } as const;
const past = { receivers: [], deliveredBefore: 2, anyBefore: Number.MAX_SAFE_INTEGER, limit: 10 };

/** Each changes rows, and is told so. */
const CHANGES: readonly ((sql: Sql) => Promise<unknown>)[] = [
  (sql) => recordTicks(sql, [tick], KEY),
  (sql) => queue.registerReceiver(sql, "shop", "1"),
  (sql) => queue.fanOut(sql, "shop", { from: 1n, to: 2n }, [delivery]),
  (sql) => queue.announce(sql, ["bank"], delivery),
  (sql) => queue.claimDeliveries(sql, "shop", { now: 2, leaseMs: 1, limit: 1 }),
  (sql) => queue.recordAttempt(sql, "shop", claim, failed),
  (sql) => queue.recordFailure(sql, "shop", { now: 1, tolerated: 9, pauseMs: 1 }),
  (sql) => queue.recordSuccess(sql, "shop"),
  (sql) => queue.disableReceiver(sql, "shop", 1),
  (sql) => enableReceiver(sql, "shop"),
  (sql) => replayDeliveries(sql, { eventId: "evt_1", receiver: undefined }),
  (sql) => queue.forgetDeliveries(sql, past),
];

/** The commits so far by how they waited, as the server saw it at the very commit, and forgets them. */
async function takeCommits(owner: Sql): Promise<string[]> {
  const rows = await owner`delete from seen_commit returning setting`;
  return rows.map(({ setting }) => String(setting));
}

async function watchCommits(owner: Sql): Promise<void> {
  const watched = Object.keys(GRANTS).map(
    (table) => `create constraint trigger watch after insert or update or delete on ${table}
                deferrable initially deferred for each row execute function see_commit();`,
  );
  await owner.unsafe(`
    create table seen_commit (setting text);
    create function see_commit() returns trigger language plpgsql security definer as $$
    begin insert into seen_commit values (current_setting('synchronous_commit')); return null; end $$;
    ${watched.join("\n")}`);
}

test.each([
  ["off", "on"],
  ["local", "local"],
  ["remote_apply", "remote_apply"],
])(
  "in a database whose commits are %s for everybody, those that are acknowledged are %s",
  async (setting, expected) => {
    const database = await createTestDatabase();
    const owner = connect(database.connection, { name: "owner", max: 1 });
    const name = database.connection.database;
    let services: TenantServices | undefined;
    try {
      await owner.unsafe(`alter database ${name} set synchronous_commit = ${setting}`);
      await watchCommits(owner);
      services = await openTenant({ tenantId: "acme", connection: database.server, auditSecret: "a secret" });
      const { sequencer, pool } = services;
      const commits = async () => [...new Set(await takeCommits(owner))];
      const command = { command: configOf({}), actor: "cli:test" };
      await sequencer.submit(command);
      expect(await commits()).toEqual([expected]);
      // Nothing is to be changed, which a write of its own confirms.
      await sequencer.submit(command);
      expect(await commits()).toEqual([expected]);
      for (const change of CHANGES) {
        await pool.write(change);
        expect([change.toString(), await commits()]).toEqual([change.toString(), [expected]]);
      }
      await pool.write(followMarketSearch);
      await pool.note((sql) => claimLeases(sql, "a server", ["oracle"], 1000));
      expect(await commits()).toEqual(["local"]);
      const next = { version: 9999, name: "9999_next.sql", text: "select 1", checksum: "next" };
      const migrating = connect(database.connection, { name: "migrate", max: 1 });
      await migrate(migrating, { grants: GRANTS, migrations: [...(await readMigrations()), next] });
      await migrating.end({ timeout: 5 });
      expect(await commits()).toEqual([expected]);
    } finally {
      await services?.close();
      await owner.end({ timeout: 5 });
      await database.drop();
    }
  },
);

test("every statement that changes a row beside the log says for what its commit waits", () => {
  const folder = "src/ledger/unchained";
  for (const file of readdirSync(folder)) {
    const source = readFileSync(join(folder, file), "utf8");
    // A statement that changes two tables says it once.
    const changes = source.match(/`\s*(?:insert into|update|delete from|with moved as)\s/g) ?? [];
    const waits = source.match(/\$\{(?:commitsLocally\(sql\)|commitsToDisk\(sql\)|COMMITS_LOCALLY)\}/g) ?? [];
    const due = source.match(/`\s*with due as \(/g) ?? [];
    expect([file, waits.length]).toEqual([file, changes.length + due.length]);
  }
});
