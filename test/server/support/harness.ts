import { createHash } from "node:crypto";
import { SignJWT } from "jose";
import { pino } from "pino";
import type { Operation } from "../../../src/contract/operation.ts";
import { operations } from "../../../src/contract/operations.ts";
import type { KeyType } from "../../../src/domain/access/scopes.ts";
import { usualScopes } from "../../../src/domain/access/scopes.ts";
import { auditLines, canonicalJson } from "../../../src/domain/audit/audit-link.ts";
import { auditHash, auditKey, sealCheck } from "../../../src/domain/audit/seal.ts";
import { createdKey, statedKeys } from "../../../src/engine/access/keys.ts";
import type { ApiKey } from "../../../src/engine/rows.ts";
import { connect, type Sql } from "../../../src/postgres/connect.ts";
import type { Pool } from "../../../src/postgres/pool.ts";
import { type ListenOptions, type RunningServer, startServer } from "../../../src/server/server.ts";
import type { TenantOptions } from "../../../src/server/tenant-options.ts";
import type { Handlers } from "../../../src/services/invoke.ts";
import type { TenantServices } from "../../../src/services/tenant/tenant.ts";
import { poolOf } from "../../support/pool.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

export const TENANT = "acme";
export const ADMIN_KEY = "sk_admin-0123456789-abcdefghijklmnopqrstuvwxyz";
export const PUBLIC_KEY = "pk_public-0123456789-abcdefghijklmnopqrstuvwxy";
export const EXPIRED_KEY = "pk_expired-0123456789-abcdefghijklmnopqrstuvwx";
export const JWT_SECRET = "a tenant's secret that is long enough for HS256";
/** Seals the audit log of tenants of the tests. */
export const AUDIT_SECRET = "an audit key of the tests, of 32 bytes and more";
const HARNESS_KEY = auditKey(AUDIT_SECRET);
export const WEBHOOK_SECRET = "whsec_tenant_demo_0123456789abcdef";

export interface Backend {
  database: TestDatabase;
  sql: Sql;
  pool: Pool;
  close(): Promise<void>;
}

/** A database of its own with three keys in it. */
export async function openBackend(): Promise<Backend> {
  const database = await createTestDatabase();
  const sql = connect(database.connection, { name: "server test", max: 4 });
  for (const [key, name, type, expiresAt] of [
    [ADMIN_KEY, "ops", "admin", null],
    [PUBLIC_KEY, "web", "public", null],
    [EXPIRED_KEY, "old", "public", 1_000],
  ] as const)
    await insertKey(sql, key, name, type, expiresAt);
  return {
    database,
    sql,
    pool: poolOf(sql),
    async close() {
      await sql.end({ timeout: 5 });
      await database.drop();
    },
  };
}

/** A key with the entry that makes it, sealed as a tenant of the tests seals: without one it would open nothing. */
export async function insertKey(
  sql: Sql,
  value: string,
  name: string,
  type: KeyType,
  expiresAt: number | null = null,
  { scopes = usualScopes(type), from = [] }: Partial<Pick<ApiKey, "scopes" | "from">> = {},
) {
  const key: ApiKey = {
    hash: sha256(value),
    name,
    type,
    scopes,
    from,
    createdAt: 0,
    expiresAt,
    leaked: false,
    onRecord: true,
    version: 1,
  };
  const [head] = await sql`select seq, hash from head`;
  const unsealed = {
    seq: BigInt(head?.seq) + 1n,
    type: "key.created",
    actor: "cli:test",
    payloadText: canonicalJson({ ...createdKey(key), keys: statedKeys([key]) }),
    ts: new Date(0).toISOString(),
    keyId: HARNESS_KEY.id,
  };
  const hash = auditHash(HARNESS_KEY, head?.hash, auditLines(unsealed));
  await sql`
    insert into audit (seq, type, actor, payload, ts, key_id, hash)
    values (${String(unsealed.seq)}, ${unsealed.type}, ${unsealed.actor}, ${unsealed.payloadText}, ${unsealed.ts},
            ${unsealed.keyId}, ${hash})`;
  await sql`update head set seq = ${String(unsealed.seq)}, hash = ${hash}`;
  await sql`
    insert into api_key (hash, name, type, scopes, networks, created_at, expires_at, version)
    values (${key.hash}, ${name}, ${type}, ${scopes.join(" ")}, ${from.join(" ")}, 0, ${expiresAt}, 1)`;
}

export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** One list for all endpoints, as a tenant file with nothing but shared secrets has it. */
export function everyEndpoint(...secrets: string[]): NonNullable<TenantOptions["webhookSecrets"]> {
  const endpoint = { secrets, scheme: "any" } as const;
  return { kyc: endpoint, payments: endpoint, oracle: endpoint };
}

/** Many requests come from one address here, so the limit is out of the way unless a test sets its own. */
export async function serve(
  { pool }: Pick<Backend, "pool">,
  handlers: Handlers,
  options: Partial<TenantOptions> = {},
  where: Partial<ListenOptions> = {},
): Promise<RunningServer> {
  return startServer(
    {
      tenantId: TENANT,
      // Clients here keep their connections, and nothing is on its way when a test is over.
      lastRequestMs: 20,
      // A busy machine may let a statement wait; the shared count is asked all the same.
      countTimeoutMs: 60_000,
      services: { handlers, isSealed: sealCheck([HARNESS_KEY]) },
      pool,
      jwt: { algorithm: "HS256", secret: JWT_SECRET },
      webhookSecrets: everyEndpoint(WEBHOOK_SECRET),
      corsOrigins: [],
      trustProxy: [],
      rateLimit: { perMinute: 1_000_000 },
      isDatabaseUp: async () => true,
      log: pino({ level: "silent" }),
      ...options,
    },
    { host: "127.0.0.1", port: 0, opsPort: 0, ...where },
  );
}

/** A server of a tenant's services. */
export function serveServices(
  services: TenantServices,
  options: Partial<TenantOptions> = {},
  where: Partial<ListenOptions> = {},
): Promise<RunningServer> {
  return serve(services, services.handlers, { services, isDatabaseUp: services.isDatabaseUp, ...options }, where);
}

export interface TokenClaims {
  sub?: unknown;
  iat?: unknown;
  exp?: unknown;
  [claim: string]: unknown;
}

/** A user token with these claims instead of the usual ones; undefined leaves a claim out. */
export async function userToken(claims: TokenClaims = {}, secret = JWT_SECRET, alg = "HS256"): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const payload = { sub: "usr_1", iat: now, exp: now + 600, ...claims };
  return new SignJWT(payload as never).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));
}

/** A request of an operation with a path that has no `:name` left, and no credentials. */
export function requestOf(operation: Operation): { path: string; init: RequestInit } {
  const path = operation.path.replace(":tenantId", TENANT).replace(/:\w+/g, "mkt_1");
  const init: RequestInit = { method: operation.method };
  if (operation.method !== "GET") {
    init.body = "{}";
    init.headers = { "content-type": "application/json" };
  }
  return { path, init };
}

/** A handler for every operation, which answers nothing that the contract knows. */
export function allHandlers(): Handlers {
  const reached = async () => {
    throw new Error("reached the handler");
  };
  return Object.fromEntries(Object.keys(operations).map((id) => [id, reached])) as Handlers;
}
