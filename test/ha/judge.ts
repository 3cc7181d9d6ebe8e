import type { Operator, ServerProcess } from "../support/operator.ts";
import type { Cluster } from "./cluster.ts";
import type { Order } from "./load.ts";
import { until } from "./processes.ts";

const READ_TIMEOUT_MS = 60_000;
/** What readiness shows is at most this old. */
const READINESS_MS = 5000;

/** What the record is compared with. */
export interface Evidence {
  cluster: Cluster;
  operator: Operator;
  servers: readonly ServerProcess[];
  /** Of all rounds so far. */
  orders: readonly Order[];
}

/** A primary, which is asked in a session of its own. */
interface Asked {
  ask(statement: string, database: string, timeoutMs: number): Promise<readonly Record<string, unknown>[]>;
}

/** What contradicts the guarantees; nothing may be under way meanwhile. */
export async function judge(evidence: Evidence): Promise<string[]> {
  const primary = await evidence.cluster.primary();
  if (!primary) return ["there is no primary"];
  return [
    ...(await compareTrades(primary, evidence.orders)),
    ...(await checkBooks(evidence.operator)),
    ...(await checkReadiness(evidence)),
  ];
}

/** Every acknowledged order is there once and under the id of its answer, no refused one is, and any other at most once. */
export async function compareTrades(primary: Asked, orders: readonly Order[]): Promise<string[]> {
  const rows = await primary.ask("select id, trader_id, amount_micro from trade", "acme", READ_TIMEOUT_MS);
  const recorded = new Map<string, string[]>();
  for (const { id, trader_id, amount_micro } of rows) {
    const fingerprint = `${trader_id} ${amount_micro}`;
    recorded.set(fingerprint, [...(recorded.get(fingerprint) ?? []), String(id)]);
  }
  const findings = orders.flatMap((order) => {
    const ids = recorded.get(`${order.user} ${order.amountMicro}`) ?? [];
    const what = problemOf(order, ids);
    return what === undefined ? [] : [`${what}: ${JSON.stringify({ ...order, ids })}`];
  });
  const known = new Set(orders.map(({ user, amountMicro }) => `${user} ${amountMicro}`));
  const strange = [...recorded.keys()].filter((fingerprint) => !known.has(fingerprint));
  return [...findings, ...strange.map((fingerprint) => `a trade that no client sent: ${fingerprint}`)];
}

function problemOf({ outcome, tradeId }: Order, ids: readonly string[]): string | undefined {
  if (ids.length > 1) return "an order is there twice";
  if (outcome === "open") return "an order has no end";
  if (outcome === "refused" && ids.length > 0) return "a refused order is there";
  if (outcome !== "acknowledged") return undefined;
  if (ids.length === 0) return "an acknowledged order is missing";
  return ids[0] === tradeId ? undefined : "an order is there under another id than its answer's";
}

/** Ledger and chain, by the commands that operators have. */
export async function checkBooks(operator: Operator): Promise<string[]> {
  const findings: string[] = [];
  for (const command of [
    ["reconcile", "--full"],
    ["audit", "verify"],
  ]) {
    const { exitCode, stdout, stderr } = await operator.run(...command, "--via", "db", "-o", "json");
    if (exitCode !== 0) findings.push(`${command.join(" ")} ended with ${exitCode}: ${stderr} ${stdout}`);
  }
  return findings;
}

/** Both servers still run, and say that all is well, within the time in which they have to notice. */
async function checkReadiness({ cluster, servers }: Evidence): Promise<string[]> {
  const primary = await cluster.primary();
  const findings = servers.map(async ({ opsUrl, child }, index) => {
    if (child.exitCode !== null || child.signalCode !== null) return [`server ${index} has ended`];
    let said = "";
    const look = async () => {
      const answer = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(READINESS_MS) });
      said = `${answer.status} ${await answer.text()}`;
      const { writes, database } = JSON.parse(said.slice(4)) as {
        writes: boolean;
        database: { host: string; synchronousStandbys: number; survives: string } | null;
      };
      const isRight = answer.ok && writes && database?.survives === "machine" && database.synchronousStandbys === 1;
      // A server that knows the nodes by name says which one is the primary; behind HAProxy there is one address.
      const isThere = index !== 0 || database?.host === primary?.place;
      return isRight && isThere ? true : undefined;
    };
    return until("a true readiness", look, READINESS_MS).then(
      () => [],
      () => [`server ${index} says of a whole cluster: ${said}`],
    );
  });
  return (await Promise.all(findings)).flat();
}
