import { createHash } from "node:crypto";
import { z } from "zod";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { microFromDecimal } from "../domain/money.ts";
import { type Override, type Policy, storedPolicy } from "../domain/policy/policy.ts";
import type { TenantRecord } from "../engine/rows.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { settings } from "../queries/reconcile/reconcile-standing.ts";
import { configurationSaid, saidBy } from "./on-record.ts";

const Instant = z.iso.datetime({ precision: 3 });
const Amount = z.string().regex(/^\d+(\.\d{1,6})?$/);

/** An entry's statement of the row, as far as another hand could have left it unreadable. */
const Stated = z.object({
  policy: z.record(z.string(), z.unknown()),
  overrides: z.array(z.looseObject({ field: z.string(), until: Instant })),
  policyUpdatedAt: Instant,
  kycRequired: z.boolean(),
  liquidity: Amount,
  capital: Amount,
  document: z.string(),
});

/** The tenant's row as the audit log states it, and whether the row is so: judged as reconciliation judges it. */
export async function loadTenantRecord(sql: ReadSql, isSealed: IsSealed): Promise<TenantRecord> {
  const [row] = await sql`
    with ${configurationSaid(sql)},
    ${settings(sql)}
    select exists (select from setting_compared where held is distinct from said) as strays,
           (select link from config_said order by seq desc limit 1) as link,
           (select state::text from tenant_said where not (select legacy from legacy)) as state,
           (select (said -> 'document')::text from config_said where type = 'config.applied') as document`;
  const holds = saidBy(row?.link, isSealed) !== "broken";
  return {
    stated: statedRow(holds ? (row?.state ?? null) : null, row?.document ?? null),
    strays: row?.strays === true,
  };
}

/** What an entry states; null where there is none, or one that was broken. */
function statedRow(text: string | null, applied: string | null): TenantRecord["stated"] {
  const state = Stated.safeParse(text === null ? null : JSON.parse(text)).data;
  if (!state) return null;
  const { overrides, policyUpdatedAt, kycRequired, liquidity, capital } = state;
  const document = applied === null ? null : canonicalJson(JSON.parse(applied));
  const isStated = document !== null && createHash("sha256").update(document).digest("hex") === state.document;
  return {
    policy: storedPolicy(state.policy as Partial<Policy>),
    overrides: overrides.map(({ until, ...each }) => ({
      ...(each as Omit<Override, "until">),
      until: Date.parse(until),
    })),
    policyUpdatedAt: Date.parse(policyUpdatedAt),
    kycRequired,
    liquidityMicro: microFromDecimal(liquidity),
    capitalMicro: microFromDecimal(capital),
    document: isStated ? document : null,
  };
}
