import { createHash } from "node:crypto";
import type { StatedTenant } from "../domain/audit/audit-shapes.ts";
import { decimalFromMicro } from "../domain/money.ts";
import type { Reader } from "./draft.ts";
import { SINGLE, type Tenant } from "./rows.ts";

/**
 * The whole tenant's row as an entry states it. The document itself is in the entry of its apply; here its SHA-256
 * says which one holds.
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
 * The tenant's row for a command that writes it: as the log states it, so that an edit of one field past the log is not
 * recorded along with a change of another.
 */
export function tenantOnRecord(state: Reader): Tenant | undefined {
  const held = state.get("tenant", SINGLE);
  const stated = state.get("tenantRecord", SINGLE)?.stated;
  if (!stated) return held;
  const document = stated.document ?? held?.document;
  return document === undefined ? undefined : { ...stated, document, version: held?.version ?? 0 };
}

/** Whether the row differs from the log. A command then writes it even when it changes nothing in the log. */
export function tenantStrays(state: Reader): boolean {
  return state.get("tenantRecord", SINGLE)?.strays === true;
}
