import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuditKey, auditKey } from "../../src/domain/audit/seal.ts";
import { type Connection, connect, type Row, type Sql } from "../../src/postgres/connect.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { readerOf } from "../../src/postgres/pool.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { verifyChain } from "../../src/services/audit/audit-verifier.ts";
import { crash } from "../postgres/embedded-support.ts";
import { newOperator, type Operator, postWebhook, type ServerProcess } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { userToken } from "../support/user-token.ts";

/**
 * `npm run crash` kills twenty times, the server and the database's in turn; the suite shows that the harness works and
 * the guarantee holds.
 */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 2);
const TRADERS = 16;
const ROUND_MS = 250;
/** What a client leaves between two trades: the record is checked as a whole after each round, so it grows slowly. */
const PACE_MS = 60;
/** Rounds between two lines of progress. */
const PROGRESS = 50;

let operator: Operator;
let secrets: Record<string, string>;
let marketIds: string[];

beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) =>
    `${withRateLimit(text, 1_000_000)}kyc: { required: false }\n`.replace('["US"]', "[]"),
  );
  const applied = await operator.run("apply", "acme");
  expect(applied).toMatchObject({ exitCode: 0 });
  secrets = await operator.secrets();
  marketIds = [];
  for (const kind of ["cpmm", "lmsr"]) {
    const { stdout } = await operator.run(
      ...["market", "create", "--question", "Will it hold?", "--category", "test", "--kind", kind, "--p0", "0.5"],
      ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "--liquidity", "20000", "-o", "json"],
    );
    marketIds.push((JSON.parse(stdout) as { id: string }).id);
  }
});

afterAll(() => operator?.close());

/** A trade request that is repeated with its key until a server answers. */
interface Order {
  key: string;
  user: string;
  tradeId: string | undefined;
  /** An attempt was not answered, or with 5xx. */
  unsure: boolean;
}

/** Clients that trade until told to stop, on whichever server `pick` names, and repeat what was not answered. */
function startClients(pick: () => ServerProcess | undefined, paceMs = 0) {
  const orders: Order[] = [];
  let stopping = false;
  let underWay = 0;
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const clients = Array.from({ length: TRADERS }, async (_, index) => {
    const user = `usr_${index}`;
    const token = await userToken(user, secrets);
    for (let turn = 0; !stopping && turn < 100_000; turn++) {
      const order: Order = { key: randomUUID(), user, tradeId: undefined, unsure: false };
      orders.push(order);
      const body = JSON.stringify({
        marketId: marketIds[turn % 2],
        selection: { side: (turn + index) % 3 === 0 ? "no" : "yes" },
        amount: 0.5 + (turn % 3) / 4,
      });
      for (let attempt = 0; order.tradeId === undefined && attempt < 4000; attempt++) {
        await gate.promise;
        const server = pick();
        underWay += 1;
        order.tradeId = server && (await trade(server.url, token, order.key, body));
        underWay -= 1;
        if (order.tradeId === undefined) {
          order.unsure ||= server !== undefined;
          await delay(25);
        }
      }
      await delay(paceMs);
    }
  });
  return {
    orders,
    /** How many trades a server has acknowledged. */
    answered: () => orders.filter(({ tradeId }) => tradeId !== undefined).length,
    /** Does the work while no client asks for anything. */
    hold: async (work: () => Promise<void>) => {
      gate = Promise.withResolvers();
      while (underWay > 0) await delay(5);
      await work();
      gate.resolve();
    },
    stop: async () => {
      stopping = true;
      await Promise.all(clients);
    },
  };
}

/** The trade's id, or undefined when no server answered or too many requests waited. Any other refusal fails the test. */
async function trade(url: string, token: string, key: string, body: string): Promise<string | undefined> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${url}/v1/trade`, {
      method: "POST",
      headers: {
        "x-api-key": secrets.ACME_PUBLIC_KEY ?? "",
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body,
    });
    text = await response.text();
  } catch {
    return undefined;
  }
  // Too busy: it was not executed.
  if (response.status >= 500 || response.status === 429) return undefined;
  expect(response.status, text).toBe(200);
  return (JSON.parse(text) as { tradeId: string }).tradeId;
}

async function fund(url: string): Promise<void> {
  for (let index = 0; index < TRADERS; index++) {
    const event = { event: "deposit.completed", userId: `usr_${index}`, amountUsd: 9000, txRef: `tx_${randomUUID()}` };
    const answer = await postWebhook(url, "/payments/inbound/acme", secrets.ACME_WEBHOOK_SECRET ?? "", event);
    expect(answer.status).toBe(200);
  }
}

/** Every acknowledged order is in the record exactly once, and the books are exact. */
async function expectExact(orders: Order[]): Promise<void> {
  const reconciled = await operator.run("reconcile", "-o", "json", "--via", "db");
  expect(JSON.parse(reconciled.stdout)).toMatchObject({ ok: true, discrepancy: 0 });
  const verified = await operator.run("audit", "verify", "--via", "db");
  expect(verified.exitCode, verified.stderr).toBe(0);
  const acknowledged = orders.map(({ tradeId }) => tradeId).filter((id) => id !== undefined);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  const recorded = await recordedTrades();
  const missing = acknowledged.filter((id) => !recorded.has(id));
  expect(missing).toEqual([]);
}

async function recordedTrades(): Promise<Set<string>> {
  const trades = new Set<string>();
  const { stdout } = await operator.run(
    "audit",
    "list",
    "--type",
    "trade.executed",
    "--limit",
    "100000",
    "-o",
    "ndjson",
    "--via",
    "db",
  );
  for (const line of stdout.split("\n").filter(Boolean)) {
    const { payload } = JSON.parse(line) as { payload: { tradeId: string } };
    expect(trades.has(payload.tradeId)).toBe(false);
    trades.add(payload.tradeId);
  }
  return trades;
}

describe("kill -9", () => {
  test(
    `${ROUNDS} kills under load, of the server and of its database in turn, lose no acknowledged trade and repeat none`,
    async () => {
      let server: ServerProcess | undefined = await operator.serve("acme", "--no-sweep");
      await fund(server.url);
      const clients = startClients(() => server, PACE_MS);
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
      await expectExact(clients.orders);
    },
    60_000 + ROUNDS * 10_000,
  );

  test("two servers on one tenant both make progress and keep every total exact", async () => {
    const servers = [await operator.serve("acme"), await operator.serve("acme")];
    await fund((servers[0] as ServerProcess).url);
    let turn = 0;
    const clients = startClients(() => servers[turn++ % 2]);
    const commits = () => Promise.all(servers.map(({ opsUrl }) => commitsOf(opsUrl)));
    await delay(2500);
    // However busy the other is, each gets its turn.
    while (Math.min(...(await commits())) <= 10) await delay(50);
    await clients.stop();
    for (const server of servers) expect(await server.kill("SIGTERM")).toBe(0);
    await expectExact(clients.orders);
  });
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

/** How many batches a process has committed. */
async function commitsOf(opsUrl: string): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(/^pmctl_sequencer_batch_commands_count (\d+)/m.exec(metrics)?.[1] ?? 0);
}
