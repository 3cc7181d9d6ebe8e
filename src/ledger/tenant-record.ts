import { createHash } from "node:crypto";
import { z } from "zod";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { microFromDecimal } from "../domain/money.ts";
import { type Override, type Policy, storedPolicy } from "../domain/policy/policy.ts";
import type { TenantRecord } from "../engine/rows.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { configurationSaid, isoOf, membersOf, saidBy } from "./on-record.ts";

const Instant = z.iso.datetime({ precision: 3 });
const Amount = z.string().regex(/^\d+(\.\d{1,6})?$/);

/** An entry's statement of the tenant's row, whose text may have been tampered with. */
const Stated = z.object({
  policy: z.record(z.string(), z.unknown()),
  overrides: z.array(z.looseObject({ field: z.string(), until: Instant })),
  policyUpdatedAt: Instant,
  kycRequired: z.boolean(),
  liquidity: Amount,
  capital: Amount,
  document: z.string(),
});

/** The tenant's row as the audit log states it, and whether the row differs by the comparison of reconciliation. */
export async function loadTenantRecord(sql: ReadSql, isSealed: IsSealed): Promise<TenantRecord> {
  const [row] = await sql`
    with ${configurationSaid(sql)},
    ${settings(sql)}
    select exists (select from setting_compared where held is distinct from said) as strays,
           (select link from config_said order by seq desc limit 1) as link,
           (select state::text from tenant_said) as state,
           (select (said -> 'document')::text from config_said where type = 'config.applied') as document`;
  const holds = saidBy(row?.link, isSealed) !== "broken";
  return {
    stated: statedRow(holds ? (row?.state ?? null) : null, row?.document ?? null),
    strays: row?.strays === true,
  };
}

/** What an entry states; null for no entry or a broken one. */
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

/** The overrides of the tenant's row, their ends written as entries write instants. */
function overrides(sql: ReadSql) {
  return sql`
    case when jsonb_typeof(overrides) = 'array' then (
      select coalesce(jsonb_agg(case when jsonb_typeof(one -> 'until') = 'number'
                 then one || jsonb_build_object('until', ${isoOf(sql, "(one ->> 'until')::numeric")})
                 else one end order by place), '[]')::text
        from jsonb_array_elements(overrides) with ordinality as each (one, place)
    ) else overrides::text end`;
}

/** The tenant's row, field by field, against the last entry that states it whole. */
export function settings(sql: ReadSql) {
  const state = (field: string) => sql.unsafe(`state ->> '${field}'`);
  return sql`
    tenant_held as materialized (
      select audit_json(policy) as policy, audit_json(overrides) as overrides, policy_updated_at, kyc_required,
             liquidity_micro, capital_micro, document
        from tenant
    ),
    tenant_said as materialized (
      select said -> 'state' as state from config_said order by seq desc limit 1
    ),
    setting_compared as (
          select 'policy' as name, 'policy.' || coalesce(h.key, s.key) as place, h.value::text as held, s.value::text as said
            from (select member.* from tenant_held cross join lateral ${membersOf(sql, "policy")} member) h
            full join (select member.* from tenant_said cross join lateral ${membersOf(sql, "state -> 'policy'")} member) s
                   on s.key = h.key
          union all
          select field.name, field.place, field.held, field.said
            from tenant_held
            full join tenant_said on true
           cross join lateral (
             values ('policy', 'policy.overrides', ${overrides(sql)}, ${state("overrides")}),
                    ('policy', 'policy.updatedAt', ${isoOf(sql, "policy_updated_at")}, ${state("policyUpdatedAt")}),
                    ('configuration', 'kyc.required', kyc_required::text, ${state("kycRequired")}),
                    ('configuration', 'markets.liquidityUsd', trim_scale(liquidity_micro * 0.000001)::text,
                     ${state("liquidity")}),
                    ('configuration', 'treasury.capitalUsd', trim_scale(capital_micro * 0.000001)::text,
                     ${state("capital")}),
                    ('configuration', 'document', encode(sha256(convert_to(document, 'UTF8')), 'hex'),
                     ${state("document")})
           ) as field (name, place, held, said)
    )`;
}
