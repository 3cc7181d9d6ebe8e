import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { newOperator, type Operator, postWebhook, type ServerProcess } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { userToken } from "../support/user-token.ts";

export const TRADERS = 16;

/** A tenant with two markets, and clients that trade there whatever happens to its servers. */
export interface CrashScene {
  operator: Operator;
  secrets: Record<string, string>;
  marketIds: string[];
}

export async function openCrashScene(): Promise<CrashScene> {
  const operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) =>
    `${withRateLimit(text, 1_000_000)}kyc: { required: false }\n`.replace('["US"]', "[]"),
  );
  const applied = await operator.run("apply", "acme");
  expect(applied).toMatchObject({ exitCode: 0 });
  const marketIds: string[] = [];
  for (const kind of ["cpmm", "lmsr"]) {
    const { stdout } = await operator.run(
      ...["market", "create", "--question", "Will it hold?", "--category", "test", "--kind", kind, "--p0", "0.5"],
      ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "--liquidity", "20000", "-o", "json"],
    );
    marketIds.push((JSON.parse(stdout) as { id: string }).id);
  }
  return { operator, secrets: await operator.secrets(), marketIds };
}

/** A trade request that is repeated with its key until a server answers. */
export interface Order {
  key: string;
  user: string;
  tradeId: string | undefined;
  /** An attempt was not answered, or with 5xx. */
  unsure: boolean;
}

/** Clients that trade until told to stop, on whichever server `pick` names, and repeat what was not answered. */
export function startClients({ secrets, marketIds }: CrashScene, pick: () => ServerProcess | undefined, paceMs = 0) {
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
        order.tradeId = server && (await trade(secrets, server.url, token, order.key, body));
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
async function trade(
  secrets: Record<string, string>,
  url: string,
  token: string,
  key: string,
  body: string,
): Promise<string | undefined> {
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

export async function fund({ secrets }: CrashScene, url: string): Promise<void> {
  for (let index = 0; index < TRADERS; index++) {
    const event = { event: "deposit.completed", userId: `usr_${index}`, amountUsd: 9000, txRef: `tx_${randomUUID()}` };
    const answer = await postWebhook(url, "/payments/inbound/acme", secrets.ACME_WEBHOOK_SECRET ?? "", event);
    expect(answer.status).toBe(200);
  }
}

/** Every acknowledged order is in the record exactly once, and the books are exact. */
export async function expectExact({ operator }: CrashScene, orders: Order[]): Promise<void> {
  const reconciled = await operator.run("reconcile", "-o", "json", "--via", "db");
  expect(JSON.parse(reconciled.stdout)).toMatchObject({ ok: true, discrepancy: 0 });
  const verified = await operator.run("audit", "verify", "--via", "db");
  expect(verified.exitCode, verified.stderr).toBe(0);
  const acknowledged = orders.map(({ tradeId }) => tradeId).filter((id) => id !== undefined);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  const recorded = await recordedTrades(operator);
  const missing = acknowledged.filter((id) => !recorded.has(id));
  expect(missing).toEqual([]);
}

async function recordedTrades(operator: Operator): Promise<Set<string>> {
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
