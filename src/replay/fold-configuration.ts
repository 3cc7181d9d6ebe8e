import { CAPITAL, TREASURY } from "../domain/accounts.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import type { StatedTenant } from "../domain/audit/audit-shapes.ts";
import { microFromDecimal } from "../domain/money.ts";
import { storedPolicy } from "../domain/policy/policy.ts";
import { SINGLE, type Tables } from "../engine/rows.ts";
import type { LoggedRows } from "./logged-rows.ts";

/** The capital that an apply adds to the treasury, before its other effects. */
export function applyCapital(rows: LoggedRows, { capitalAdded }: AuditPayloads["config.applied"]): void {
  rows.move(CAPITAL, TREASURY, microFromDecimal(capitalAdded));
}

export function applyTenant(rows: LoggedRows, stated: StatedTenant, document: string): void {
  rows.put("tenant", SINGLE, {
    policy: storedPolicy(stated.policy),
    overrides: stated.overrides.map((each) => ({ ...each, until: Date.parse(each.until) })),
    policyUpdatedAt: Date.parse(stated.policyUpdatedAt),
    kycRequired: stated.kycRequired,
    liquidityMicro: microFromDecimal(stated.liquidity),
    capitalMicro: microFromDecimal(stated.capital),
    document,
    version: 0,
  });
}

/** Every value that the entry lists, in its new state. */
export function applyKeys(rows: LoggedRows, { name, type, keys }: AuditPayloads["key.created" | "key.revoked"]): void {
  for (const [hash, { scopes, from, createdAt, expiresAt, leaked = false }] of Object.entries(keys))
    rows.put("apiKey", hash, {
      ...{ hash, name, type, scopes: scopes as Tables["apiKey"]["scopes"], from, leaked, onRecord: true, version: 0 },
      createdAt: Date.parse(createdAt),
      expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
    });
}
