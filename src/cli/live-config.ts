import type { Writes } from "../config/plan-decision.ts";
import type { Desired, LiveConfig, Plan } from "../config/plan-types.ts";
import { canonicalJson, type Json } from "../domain/audit-link.ts";
import { statusAt } from "../domain/market.ts";
import { microFromUsd, usdFromMicro } from "../domain/money.ts";
import { DEFAULT_POLICY } from "../domain/policy.ts";
import { type FeedHashes, termsOf } from "../domain/terms.ts";
import type { ApplyConfig } from "../engine/commands.ts";
import type { ApiKey, Tenant } from "../engine/rows.ts";
import type { FileMarket } from "../store/queries/configuration.ts";

/** The rows that a plan compares with. */
export interface LiveRows {
  /** Undefined for a tenant that was never applied. */
  tenant: Tenant | undefined;
  keys: readonly ApiKey[];
  markets: readonly FileMarket[];
  /** The database's clock. */
  now: number;
}

/** A tenant's rows as the planner sees them. */
export function liveConfigOf({ tenant, keys, markets, now }: LiveRows): LiveConfig {
  return {
    version: tenant?.version ?? 0,
    policy: tenant?.policy ?? DEFAULT_POLICY,
    overrides: tenant?.overrides ?? [],
    kycRequired: tenant?.kycRequired ?? true,
    liquidityUsd: usdFromMicro(tenant?.liquidityMicro ?? 0n),
    capitalUsd: usdFromMicro(tenant?.capitalMicro ?? 0n),
    keys: keys
      .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
      .map(({ name, type, hash, expiresAt, createdAt }) => ({
        name,
        type,
        hash,
        fingerprint: keyFingerprint(hash),
        expiresAt,
        createdAt,
      })),
    markets: markets.map(({ market, status }) => ({
      key: market.fileKey,
      id: market.id,
      question: market.question,
      category: market.category,
      kind: market.kind,
      p0: market.p0Ppm / 1e6,
      closeAt: market.closeAt,
      resolutionRef: market.resolutionRef,
      meta: JSON.parse(market.meta) as { [key: string]: Json },
      liquidityUsd: usdFromMicro(market.fundMicro),
      status: statusAt({ status, closeAt: market.closeAt }, now),
    })),
    document: tenant?.document,
    now,
  };
}

/** Of what is stored of a key, a SHA-256: its value is known to the file's side only. */
export function keyFingerprint(hash: string): string {
  return `fp:${hash.slice(0, 8)}`;
}

/** The engine's command for what a plan writes. */
export function applyCommandOf(
  writes: Writes,
  { plan, desired }: { plan: Plan; desired: Desired },
  {
    newId,
    gitCommit,
    rollbackTo,
    hashes,
  }: { newId: () => string; gitCommit: string | undefined; rollbackTo?: number | undefined; hashes: FeedHashes },
): ApplyConfig {
  const { document } = writes;
  const adopted = Object.keys(document.adopted);
  return {
    type: "applyConfig",
    ifVersion: plan.liveVersion,
    policy: writes.policy,
    kycRequired: writes.kycRequired,
    liquidityMicro: micro(writes.liquidityUsd),
    capitalMicro: micro(writes.capitalUsd),
    keys: writes.keys.map(({ name, type, hash, expiresAt }) => ({ name, type, hash, expiresAt })),
    revoke: writes.revoke,
    markets: writes.create.flatMap((key) => {
      const market = document.declared[key];
      if (!market) return [];
      const { question, category, kind, p0, closeAt, resolutionRef, meta, state } = market;
      const outcome = termsOf(market, hashes);
      return {
        id: newId(),
        fileKey: key,
        question,
        category,
        kind,
        p0Ppm: Math.round(p0 * 1e6),
        closeAt,
        resolutionRef,
        meta: canonicalJson(meta),
        liquidityMicro: micro(market.liquidityUsd ?? document.markets.liquidityUsd),
        terms: outcome.kind === "terms" ? outcome.terms : null,
        state,
      };
    }),
    marketStates: writes.states,
    document: canonicalJson(document as unknown as Json),
    documentSha256: desired.fileSha256,
    gitCommit,
    rollbackTo,
    adopted: adopted.length > 0 ? adopted : undefined,
  };
}

/** The schema has let through no amount with more than six decimals. */
function micro(usd: number): bigint {
  return microFromUsd(usd) ?? 0n;
}
