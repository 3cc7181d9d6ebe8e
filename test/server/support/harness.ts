import { createHash } from "node:crypto";
import { SignJWT } from "jose";
import { pino } from "pino";
import type { Operation } from "../../../src/contract/operation.ts";
import { operations } from "../../../src/contract/operations.ts";
import { type ListenOptions, type RunningServer, type ServerOptions, startServer } from "../../../src/server/server.ts";
import type { Handlers } from "../../../src/services/invoke.ts";
import { connect, type Sql } from "../../../src/store/connect.ts";
import type { Pool } from "../../../src/store/pool.ts";
import { poolOf } from "../../support/pool.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

export const TENANT = "acme";
export const ADMIN_KEY = "sk_admin_0123456789";
export const PUBLIC_KEY = "pk_public_0123456789";
export const EXPIRED_KEY = "pk_expired_0123456789";
export const JWT_SECRET = "a tenant's secret that is long enough for HS256";
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

export async function insertKey(sql: Sql, key: string, name: string, type: string, expiresAt: number | null = null) {
  await sql`
    insert into api_key (hash, name, type, created_at, expires_at, version)
    values (${sha256(key)}, ${name}, ${type}, 0, ${expiresAt}, 1)`;
}

export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Many requests come from one address here, so the limit is out of the way unless a test sets its own. */
export async function serve(
  backend: Backend,
  handlers: Handlers,
  options: Partial<ServerOptions> = {},
  where: Partial<ListenOptions> = {},
): Promise<RunningServer> {
  return startServer(
    {
      tenantId: TENANT,
      // Clients here keep their connections, and nothing is on its way when a test is over.
      lastRequestMs: 20,
      // A busy machine may let a statement wait; the shared count is asked all the same.
      countTimeoutMs: 60_000,
      services: { handlers },
      pool: backend.pool,
      jwt: { algorithm: "HS256", secret: JWT_SECRET },
      webhookSecrets: [WEBHOOK_SECRET],
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
