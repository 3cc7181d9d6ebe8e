import { localApi } from "../../../src/client/local-api.ts";
import { canonicalJson, type Json } from "../../../src/domain/audit/audit-link.ts";
import type { ListenOptions, RunningServer } from "../../../src/server/server.ts";
import type { TenantOptions } from "../../../src/server/tenant-options.ts";
import type { OracleSetup } from "../../../src/services/oracle/feeds.ts";
import {
  type TenantOptions as OpenOptions,
  openTenant,
  type TenantServices,
} from "../../../src/services/tenant/tenant.ts";
import { configOf, marketOf, usd } from "../../engine/world.ts";
import { AUDIT_SECRET, type Backend, openBackend, serveServices, TENANT } from "./harness.ts";

/** A whole tenant behind a real socket: services, sequencer and database. */
export interface ServedTenant {
  backend: Backend;
  services: TenantServices;
  server: RunningServer;
  url: string;
  balance(account: string): Promise<bigint>;
  /** Audit entries of these types, oldest first. */
  audit(...types: string[]): Promise<{ type: string; actor: string; payload: Record<string, unknown> }[]>;
  deposit(userId: string, dollars: number): Promise<void>;
  openMarket(id: string, change?: Partial<Parameters<typeof marketOf>[0]>): Promise<void>;
  /** The ledger agrees with itself, and the chain verifies. */
  isSound(): Promise<boolean>;
  close(): Promise<void>;
}

export interface ServedOptions extends Partial<TenantOptions> {
  /** The section of the tenant file about how markets end. */
  resolution?: Json;
  /** The section of the tenant file about what needs several people. */
  approvals?: Json;
  /** The section of the tenant file about webhooks. */
  webhooks?: Json;
  /** The built-in feeds alone, unless given. */
  oracle?: OracleSetup;
  /** Where anchors of its log are kept. */
  anchors?: OpenOptions["anchors"];
  /** Where it listens, if not at free ports of the loopback address. */
  where?: Partial<ListenOptions>;
}

export async function serveTenant({
  resolution,
  approvals,
  webhooks,
  oracle,
  anchors,
  where,
  ...options
}: ServedOptions = {}): Promise<ServedTenant> {
  const backend = await openBackend();
  const services = await openTenant({
    tenantId: TENANT,
    connection: backend.database.server,
    auditSecret: AUDIT_SECRET,
    oracle,
    anchors,
  });
  const { sequencer, handlers } = services;
  // The keys that the harness inserted are named again, or the apply would revoke them.
  const stored = await backend.sql`select hash, name, type, expires_at from api_key where expires_at is null`;
  const keys = stored.map(({ hash, name, type }) => ({ hash, name, type, expiresAt: null }));
  const sections: { [name: string]: Json } = Object.fromEntries(
    Object.entries({ resolution, approvals, webhooks }).filter((each): each is [string, Json] => each[1] !== undefined),
  );
  await sequencer.submit({
    command: configOf({ keys, ...(Object.keys(sections).length > 0 && { document: canonicalJson(sections) }) }),
    actor: "cli:test",
  });
  const server = await serveServices(services, { pool: backend.pool, ...options }, where);
  return {
    backend,
    services,
    server,
    url: server.url,
    async balance(account) {
      const [row] = await backend.sql`select balance_micro from account where id = ${account}`;
      return BigInt(row?.balance_micro ?? 0);
    },
    async audit(...types) {
      const rows = await backend.sql`select type, actor, payload from audit order by seq`;
      return rows
        .map(({ type, actor, payload }) => ({ type, actor, payload: JSON.parse(payload) }))
        .filter(({ type }) => types.includes(type));
    },
    async deposit(userId, dollars) {
      const command = { type: "recordDeposit", provider: "payments", traderId: userId } as const;
      const reference = `test ${userId} ${dollars}`;
      await sequencer.submit({ command: { ...command, amountMicro: usd(dollars), reference }, actor: "provider:test" });
    },
    async openMarket(id, change = {}) {
      const closeAt = Date.now() + 3_600_000;
      await sequencer.submit({ command: marketOf({ id, closeAt, ...change }), actor: "admin:ops" });
    },
    async isSound() {
      const operator = localApi(handlers, { actor: "cli:test" });
      const { ok } = await operator.reconcile({});
      return ok && (await operator.getAuditStatus({})).verified;
    },
    async close() {
      await server.close();
      await services.close();
      await backend.close();
    },
  };
}
