import type { Seal } from "../domain/audit-link.ts";
import type { ApplyConfig } from "../engine/commands.ts";
import { type ApiKey, SINGLE, type Tenant } from "../engine/rows.ts";
import { connect } from "../store/connect.ts";
import { isMissingDatabase, unusable } from "../store/database.ts";
import { listApiKeys, loadRows } from "../store/load.ts";
import { schemaVersion } from "../store/migrate.ts";
import { readClock } from "../store/queries/clock.ts";
import {
  type ConfigurationEntry,
  type FileMarket,
  listConfigurationEntries,
  listFileMarkets,
} from "../store/queries/configuration.ts";
import { openTenant, type TenantOptions, type TenantServices } from "./tenant.ts";

/** What is live of a tenant's configuration. */
export interface Configuration {
  /** Undefined for a tenant that was never applied. */
  tenant: Tenant | undefined;
  keys: ApiKey[];
  markets: FileMarket[];
  /** What changed it lately, newest first. */
  entries: ConfigurationEntry[];
  /** By the database's clock. */
  now: number;
}

/** So far back it is known who moved a live value. */
const MAX_ENTRIES = 1000;

/** Reads what a plan compares with. The tenant's row comes first: whatever changes after it makes the plan stale. */
export async function readConfiguration({ read }: Pick<TenantServices, "read">): Promise<Configuration> {
  const [loaded] = await loadRows(read, [{ table: "tenant", key: SINGLE }]);
  const [keys, markets, entries, now] = await Promise.all([
    listApiKeys(read),
    listFileMarkets(read),
    listConfigurationEntries(read, MAX_ENTRIES),
    readClock(read),
  ]);
  return { tenant: (loaded?.row ?? undefined) as Tenant | undefined, keys, markets, entries, now };
}

/**
 * Carries out what was planned, in one commit.
 * @returns whether anything changed
 * @throws Fault REFUSED when the plan is stale; then nothing was written
 */
export async function applyPlanned(
  { sequencer }: Pick<TenantServices, "sequencer">,
  command: ApplyConfig,
  { actor, reason }: { actor: string; reason: string | undefined },
): Promise<{ changed: boolean; seal: Seal | undefined }> {
  const { result, entry } = await sequencer.submit({ command, actor, reason });
  return { changed: result?.changed ?? false, seal: entry };
}

/**
 * Opens a tenant, or tells by undefined that it has no database yet, or an empty one: it was never applied.
 * @throws Fault REFUSED when its schema is of another version
 */
export async function openIfApplied(options: TenantOptions): Promise<TenantServices | undefined> {
  const sql = connect(options.connection, { name: "plan", max: 1, statementTimeoutMs: 10_000 });
  try {
    if ((await schemaVersion(sql)) === 0) return undefined;
  } catch (error) {
    if (isMissingDatabase(error)) return undefined;
    throw unusable(error);
  } finally {
    await sql.end({ timeout: 5 });
  }
  return openTenant(options);
}
