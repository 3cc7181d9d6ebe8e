import type { AuditKey } from "../../domain/audit/seal.ts";
import { type KnownAnchors, knownAnchors } from "../../services/anchors/known-anchors.ts";
import { anchorPlaces, type OperatorTenant } from "../tenant/operator-tenant.ts";

/** What the operator's directory, and the files that the tenant file names, know of the log. */
export function knownToOperator(tenant: OperatorTenant, keys: readonly AuditKey[]): Promise<KnownAnchors> {
  return knownAnchors({ ...anchorPlaces(tenant), tenant: tenant.id, keys });
}
