import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { localEvents } from "../../src/client/local-events.ts";
import { GRANTS } from "../../src/ledger/schema.ts";
import { connect, withClient } from "../../src/postgres/connect.ts";
import type { Cluster } from "../../src/postgres/embedded/cluster.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { openPool } from "../../src/postgres/pool.ts";
import { divideConnections } from "../../src/services/tenant/connections.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { clusterIn, createDirectory, endClusters } from "../postgres/embedded-support.ts";
import { anyMarket } from "../support/market.ts";
import { applyTenant } from "../support/tenant.ts";

/** Longer than any read may take, a restart of the database included: what takes longer hangs. */
const PATIENCE_MS = 60_000;

const inTime = <T>(work: PromiseLike<T>): Promise<T> =>
  Promise.race([work, new Promise<never>((_, reject) => setTimeout(() => reject(new Error("it hangs")), PATIENCE_MS))]);

let cluster: Cluster;
beforeAll(async () => {
  cluster = clusterIn(await createDirectory());
  await cluster.start();
});
afterAll(endClusters);

test("reads go on when the database was restarted: none hangs, none gets another's answer, the first one is answered", {
  timeout: 600_000,
}, async () => {
  await cluster.createDatabase("acme");
  const connection = cluster.connection("acme");
  const owner = connect(connection, { name: "owner", max: 1 });
  await migrate(owner, { grants: GRANTS });
  await owner.end({ timeout: 5 });
  const services = await openTenant({ tenantId: "acme", connection, auditSecret: "an audit secret, long enough" });
  await applyTenant(services.sequencer);
  const api = localApi(services.handlers, { actor: "cli:test", user: { id: "u" } });

  let asked = 0;
  const wrong: string[] = [];
  /** A question that only its own answer fits. */
  const ask = async (): Promise<"answered" | "lost"> => {
    asked += 1;
    const number = asked;
    const answered = inTime(services.pool.read((sql) => sql`select ${number}::int as number, pg_sleep(0.001)`)).then(
      ([row]) => {
        if (row?.number !== number) wrong.push(`${number} got ${row?.number}`);
        return "answered" as const;
      },
      (error: Error) => {
        if (error.message === "it hangs") wrong.push(`${number} hangs`);
        return "lost" as const;
      },
    );
    return answered;
  };

  const admin = connect(connection, { name: "admin", max: 1 });
  for (let round = 0; round < 20; round++) {
    // Sent before, during and after the end of the connections.
    const readers = Array.from({ length: 12 }, async () => {
      for (let question = 0; question < 20; question++) if ((await ask()) === "lost") wrong.push(`${round} lost`);
    });
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pmctl reader'`;
    await Promise.all(readers);
    expect(wrong).toEqual([]);
  }
  await admin.end({ timeout: 5 });

  for (let round = 0; round < 2; round++) {
    let over = false;
    const readers = Array.from({ length: 20 }, async () => {
      while (!over) if ((await ask()) === "lost") await new Promise((resolve) => setTimeout(resolve, 5));
    });
    await cluster.stop();
    await cluster.start();
    over = true;
    await Promise.all(readers);
    expect(wrong).toEqual([]);
    expect(await inTime(api.getPolicy({}))).toMatchObject({ feeBps: 100 });

    // No request reads during the restart: the connections end unnoticed.
    await cluster.stop();
    await cluster.start();
    expect(await Promise.all(Array.from({ length: 20 }, ask))).toEqual(Array(20).fill("answered"));
    expect(wrong).toEqual([]);
  }
  await services.close();
});

test("connections are divided without a rest", () => {
  for (let connections = 4; connections <= 100; connections++)
    expect(Object.values(divideConnections(connections)).reduce((sum, each) => sum + each)).toBe(connections);
});

test.each([4, 16])(
  "with %i connections a server trades, reads and streams, and never has one more, although its sessions end and the database restarts",
  async (connections) => {
    await cluster.createDatabase(`acme${connections}`);
    const { host, port, user, database } = cluster.connection(`acme${connections}`);
    const url = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
    await withClient({ url }, { name: "owner", max: 1 }, (owner) => migrate(owner, { grants: GRANTS }));
    // Survives its own losses.
    const owner = openPool((max) => connect({ url }, { name: "owner", max }), { max: 1, deadlineMs: 5000 });
    const services = await openTenant({
      tenantId: "acme",
      connection: { url, pooled: false },
      auditSecret: "an audit secret, long enough",
      connections,
    });
    let [highest, over] = [0, false];
    const sampling = (async () => {
      while (!over) {
        const counted = owner.read(
          (sql) => sql<{ sessions: number }[]>`
            select count(*)::int as sessions from pg_stat_activity
             where datname = ${database} and application_name like 'pmctl%' and application_name <> 'pmctl owner'`,
        );
        const [row] = await counted.catch(() => []);
        highest = Math.max(highest, row?.sessions ?? 0);
      }
    })();
    await applyTenant(services.sequencer);
    const api = localApi(services.handlers, { actor: "cli:test", user: { id: "u" } });
    const command = { type: "recordDeposit", provider: "payments", traderId: "u", amountMicro: 10n ** 9n } as const;
    await services.sequencer.submit({ command: { ...command, reference: "tx" }, actor: "provider:payments" });
    const { id: marketId } = await api.createMarket(anyMarket({}));
    const trade = () => api.placeTrade({ marketId, selection: { side: "yes" }, amount: 1 });
    const everything = () => [
      ...Array.from({ length: 8 }, trade),
      ...Array.from({ length: 8 }, () => api.getMarket({ id: marketId })),
      ...[services.pool, services.background].flatMap((pool) =>
        Array.from({ length: 8 }, () => pool.read((sql) => sql`select pg_sleep(0.002)`)),
      ),
      ...[services.pool, services.checks].flatMap((pool) =>
        Array.from({ length: 4 }, () => pool.snapshot((sql) => sql`select pg_sleep(0.002)`)),
      ),
    ];
    expect((await Promise.all(everything())).slice(0, 8)).toMatchObject(Array(8).fill({ marketId }));
    // What is asked while connections end may fail; how many there are is what counts.
    for (let round = 0; round < 3; round++) {
      void Promise.allSettled(everything());
      await owner.read(
        (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = ${database} and application_name like 'pmctl%' and application_name <> 'pmctl owner'`,
      );
    }
    void Promise.allSettled([everything(), everything()].flat());
    await cluster.stop();
    await cluster.start();
    await expect.poll(trade, { timeout: PATIENCE_MS }).toMatchObject({ marketId });
    await expect.poll(() => api.getMarket({ id: marketId }), { timeout: PATIENCE_MS }).toMatchObject({ id: marketId });
    const ending = new AbortController();
    const events = localEvents(services, { markets: [marketId], signal: ending.signal })[Symbol.asyncIterator]();
    await inTime(events.next());
    await trade();
    expect(await inTime(events.next())).toMatchObject({ done: false });
    ending.abort();
    expect(services.countConnections()).toBeLessThanOrEqual(connections);
    over = true;
    await sampling;
    expect(highest).toBeGreaterThan(2);
    expect(highest).toBeLessThanOrEqual(connections);
    await services.close();
    await owner.end({ timeout: 5 });
  },
  120_000,
);
