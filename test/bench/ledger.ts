import { createHmac } from "node:crypto";
import { auditKey } from "../../src/domain/audit/seal.ts";
import type { ReadSql } from "../../src/postgres/connect.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { verifyChain } from "../../src/services/audit/audit-verifier.ts";
import type { TenantServices } from "../../src/services/tenant/tenant.ts";
import { AUDIT_SECRET } from "./scene.ts";

const ROUNDS = 5;

/** Prints a ratio beside its goal. */
export function checkRatio(name: string, ratio: number, goal: number): boolean {
  const verdict = goal === 0 ? "" : ratio >= goal ? ` (goal ${goal})` : ` BELOW ITS GOAL OF ${goal}`;
  console.log(`${name}: ${ratio.toFixed(2)}${verdict}`);
  return ratio >= goal;
}

/** Entries verified per second against HMACs of texts of the same length per second, both on one thread. */
export async function verifyRatio({ checks, auditKey: key }: TenantServices): Promise<number> {
  const result = await verifyChain(checks, [key]);
  if (!result.verified) throw new Error(`The chain does not verify: ${result.broken?.problem}`);
  const [row] = await checks.read(
    (sql) => sql<{ length: number }[]>`
      select (avg(length(key_id || seq || ts || type || actor || payload)) + 85)::int as length from audit`,
  );
  const verified = await best(() => verifyChain(checks, [key]));
  const { key: hmacKey } = auditKey(AUDIT_SECRET);
  const text = "x".repeat(row?.length ?? 400);
  const bare = await best(async () => {
    for (let index = 0n; index < result.count; index++) createHmac("sha256", hmacKey).update(text).digest("hex");
  });
  console.log(`verification of ${result.count} entries: ${Math.round(verified)} ms, bare HMACs ${Math.round(bare)} ms`);
  return bare / verified;
}

/** The whole reconciliation against one plain aggregate over the same tables. */
export async function reconcileRatio(sql: ReadSql): Promise<number> {
  const reconciled = await best(() => reconcileLedger(sql));
  const plain = await best(
    () => sql`
      select (select count(*) from (select debit, sum(amount_micro) from transfer group by debit) as t),
             (select count(*) from (select trader_id, market_id, side, sum(shares_micro) from trade group by 1, 2, 3) as t),
             (select sum(length(payload)) from audit)`,
  );
  console.log(`reconciliation: ${Math.round(reconciled)} ms, plain aggregate ${Math.round(plain)} ms`);
  return plain / reconciled;
}

/** Milliseconds of the fastest of a few rounds: the one that the machine disturbed least. */
async function best(work: () => PromiseLike<unknown>): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    await work();
    fastest = Math.min(fastest, performance.now() - startedAt);
  }
  return fastest;
}
