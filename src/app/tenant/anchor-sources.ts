import { anchorFilesOf } from "../../config/resolve-tenant.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { type KnownAnchors, knownAnchors } from "../../services/anchors/known-anchors.ts";
import type { OperatorTenant } from "./operator-tenant.ts";

/** Where a tenant's anchors are, as its directory and file say. */
export function anchorPlaces({ directory, config }: Pick<OperatorTenant, "directory" | "config">) {
  return { directory, files: anchorFilesOf(config) };
}

/** What the operator's directory, and the files that the tenant file names, know of the log. */
export function knownToOperator(tenant: OperatorTenant, keys: readonly AuditKey[]): Promise<KnownAnchors> {
  return knownAnchors({ ...anchorPlaces(tenant), tenant: tenant.id, keys });
}
