import { createHash } from "node:crypto";
import type { StatedTenant } from "../domain/audit/audit-shapes.ts";
import { decimalFromMicro } from "../domain/money.ts";
import type { Reader } from "./draft.ts";
import { SINGLE, type Tenant } from "./rows.ts";

/**
 * The tenant's whole row, as an entry states it. The document is in the entry of its apply; this contains its SHA-256.
 */
export function statedTenant(tenant: Tenant): StatedTenant {
  return {
    policy: tenant.policy,
    overrides: tenant.overrides.map((each) => ({ ...each, until: new Date(each.until).toISOString() })),
    policyUpdatedAt: new Date(tenant.policyUpdatedAt).toISOString(),
    kycRequired: tenant.kycRequired,
    liquidity: decimalFromMicro(tenant.liquidityMicro),
    capital: decimalFromMicro(tenant.capitalMicro),
    document: createHash("sha256").update(tenant.document).digest("hex"),
  };
}

/**
 * The tenant's row for a command that writes it, as the log states it: otherwise a change of one field would also
 * record edits of other fields that bypassed the log.
 */
export function tenantOnRecord(state: Reader): Tenant | undefined {
  const held = state.get("tenant", SINGLE);
  const stated = state.get("tenantRecord", SINGLE)?.stated;
  if (!stated) return held;
  const document = stated.document ?? held?.document;
  return document === undefined ? undefined : { ...stated, document, version: held?.version ?? 0 };
}

/** Whether the row differs from the log. A command then writes the row even if it changes nothing in the log. */
export function tenantStrays(state: Reader): boolean {
  return state.get("tenantRecord", SINGLE)?.strays === true;
}
