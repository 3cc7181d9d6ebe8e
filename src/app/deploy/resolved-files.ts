import { z } from "zod";
import { type StatedTarget, statedTargets } from "../../config/schema/anchor-places.ts";
import { MarketEntrySchema } from "../../config/schema/market-schema.ts";
import { TenantFileSchema } from "../../config/schema/schema.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Tenant } from "../../config/tenant-file.ts";
import { drainSecondsOf, externalDatabase } from "./deployment.ts";
import { yaml } from "./template.ts";

export const TENANT_FILE = "tenant.yaml";
/** All markets of a tenant in one file. */
export const MARKETS_FILE = "markets.yaml";

/**
 * A self-contained tenant file, with bases merged and defaults filled in, for servers without the operator's directory:
 * the database is external, and the markets are in one file. Secrets stay references.
 */
export function tenantText({ config, markets }: Tenant): string {
  const { source: _, ...stated } = config;
  const { extends: __, ...document } = z.encode(TenantFileSchema, {
    ...stated,
    audit: { ...stated.audit, anchors: anchorsBeyondFiles(config).map(({ target }) => target) },
    server: { ...stated.server, drainSeconds: drainSecondsOf(config) },
    markets: { ...config.markets, files: markets.length > 0 ? [MARKETS_FILE] : [] },
  });
  const database = config.database === "embedded" ? externalDatabase(config) : document.database;
  return `${yaml({ ...document, database })}\n`;
}

/** Without the operator's directory a server has no file for anchors that would outlive it. */
export function anchorsBeyondFiles({ audit }: TenantConfig): StatedTarget[] {
  return statedTargets(audit).filter(({ target }) => !("file" in target));
}

export function marketsText({ markets }: Tenant): string {
  return `${yaml(markets.map(({ source: _, ...entry }) => z.encode(MarketEntrySchema, entry)))}\n`;
}
