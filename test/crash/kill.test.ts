import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuditKey, auditKey } from "../../src/domain/audit/seal.ts";
import { type Connection, connect, type Row, type Sql } from "../../src/postgres/connect.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { readerOf } from "../../src/postgres/pool.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { verifyChain } from "../../src/services/audit/audit-verifier.ts";
import { crash } from "../postgres/embedded-support.ts";
import type { ServerProcess } from "../support/operator.ts";
import {
  type CrashScene,
  expectExact,
  fund,
  type Order,
  openCrashScene,
  startClients,
  TRADERS,
} from "./crash-scene.ts";

/**
 * `npm run crash` kills twenty times, the server and the database's in turn; the suite shows that the harness works and
 * the guarantee holds.
 */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 2);
const ROUND_MS = 250;
/** What a client leaves between two trades: the record is checked as a whole after each round, so it grows slowly. */
const PACE_MS = 60;
/** Rounds between two lines of progress. */
const PROGRESS = 50;

let scene: CrashScene;

beforeAll(async () => {
  scene = await openCrashScene();
});
afterAll(() => scene?.operator.close());

describe("kill -9", () => {
  test(
    `${ROUNDS} kills under load, of the server and of its database in turn, lose no acknowledged trade and repeat none`,
    async () => {
      const { operator, secrets } = scene;
      let server: ServerProcess | undefined = await operator.serve("acme", "--no-sweep");
      await fund(scene, server.url);
      const clients = startClients(scene, () => server, PACE_MS);
      const cluster = embeddedCluster(operator.directory);
      const record = new DurableRecord(cluster.connection("acme"), secrets.ACME_AUDIT_KEY ?? "");
      const began = performance.now();
      for (let round = 1; round <= ROUNDS; round++) {
        const before = clients.answered();
        await delay(ROUND_MS + (round % 5) * 20);
        // A slow machine gets the time to have trades that could be lost.
        while (clients.answered() < before + 2 * TRADERS) await delay(5);
        if (round % 2 === 1) {
          const dying = server;
          server = undefined;
          await dying.kill("SIGKILL");
          const successor = operator.serve("acme", "--no-sweep");
          await clients.hold(() => record.check(clients.orders));
          server = await successor;
        } else {
          await crash(cluster);
          await cluster.start();
          await clients.hold(() => record.check(clients.orders));
        }
        if (round % PROGRESS === 0) console.log(summary(round, clients.orders, began));
      }
      await clients.stop();
      expect(await server.kill("SIGTERM")).toBe(0);
      await record.check(clients.orders);
      await record.close();
      console.log(summary(ROUNDS, clients.orders, began));
      expect(clients.orders.length).toBeGreaterThan(ROUNDS * TRADERS);
      await expectExact(scene, clients.orders);
    },
    60_000 + ROUNDS * 10_000,
  );
});

function summary(rounds: number, orders: Order[], began: number): string {
  const answered = orders.filter(({ tradeId }) => tradeId !== undefined);
  const perRound = ((performance.now() - began) / rounds / 1000).toFixed(2);
  const resolved = answered.filter(({ unsure }) => unsure).length;
  return `crash: ${rounds} rounds, ${answered.length} acknowledged trades, ${resolved} unknown outcomes resolved, ${perRound} s a round`;
}

/** The durable record of the tenant, read by hand and by the checks that operators have. */
class DurableRecord {
  readonly #sql: Sql;
  readonly #keys: AuditKey[];

  constructor(connection: Connection, auditSecret: string) {
    this.#sql = connect(connection, { name: "crash test", max: 2 });
    this.#keys = [auditKey(auditSecret)];
  }

  /** Nothing may be under way meanwhile. */
  async check(orders: readonly Order[]): Promise<void> {
    const acknowledged = orders.map(({ tradeId }) => tradeId).filter((id) => id !== undefined);
    const rows = await this.#ask((sql) => sql`select id from trade`);
    const there = new Set(rows.map(({ id }) => String(id)));
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([]);
    expect(new Set(acknowledged).size).toBe(acknowledged.length);
    // What is there besides belongs to orders that wait for their answer, one trade each at the most.
    expect(there.size - acknowledged.length).toBeLessThanOrEqual(orders.length - acknowledged.length);
    const [log] = await this.#ask(
      (sql) =>
        sql`select count(*) as count, min(a.seq) as first, max(a.seq) as last, (select seq from head) as head from audit a`,
    );
    expect(log).toMatchObject({ first: "1", last: log?.count, head: log?.count });
    expect(await verifyChain(readerOf(this.#sql), this.#keys)).toMatchObject({ verified: true });
    const off = (await reconcileLedger(this.#sql, this.#keys)).filter(({ differenceMicro }) => differenceMicro !== 0n);
    expect(off).toEqual([]);
  }

  close(): Promise<void> {
    return this.#sql.end({ timeout: 5 });
  }

  /** Again when the connection of before the crash is what answers first. */
  async #ask(query: (sql: Sql) => PromiseLike<Row[]>): Promise<Row[]> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await query(this.#sql);
      } catch (error) {
        if (attempt === 20) throw error;
        await delay(50);
      }
    }
  }
}
