import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SignJWT } from "jose";
import { withClient } from "../../../src/postgres/connect.ts";
import { embeddedCluster } from "../../../src/postgres/embedded/cluster.ts";
import { prepareDatabase } from "../../../src/services/tenant/provision.ts";
import { openTenant } from "../../../src/services/tenant/tenant.ts";
import { newOperator } from "../../support/operator.ts";
import { requestBytes } from "../load.ts";
import { createMarkets, fundTraders, TRADERS, traderOf } from "../scene.ts";
import { endedWithBench } from "./endings.ts";
import { runCommand } from "./listeners.ts";

/** A directory with many tenants of one embedded PostgreSQL server, each with a database, a host and variables of its own. */
export interface Estate {
  directory: string;
  tenants: readonly string[];
  /** Trades of all users of a busy tenant in turn, each a whole request under the tenant's host. */
  trades(tenant: string): readonly Buffer[];
  close(): Promise<void>;
}

const VARIANTS = 1024;
const TEMPLATE = "template";
const SECRETS = ["ADMIN_KEY", "PUBLIC_KEY", "JWT_SECRET", "WEBHOOK_SECRET", "AUDIT_KEY"] as const;
type SecretName = (typeof SECRETS)[number];

const variable = (tenant: string, name: SecretName) => `${tenant.toUpperCase()}_${name}`;

export const hostOf = (tenant: string) => `${tenant}.test`;

const newSecret = (name: SecretName) =>
  (name === "ADMIN_KEY" ? "sk_" : name === "PUBLIC_KEY" ? "pk_" : "") + randomBytes(32).toString("hex");

/** The limits of `test/bench/stage.ts`, and one of requests that no load of this bench reaches. */
function tenantFile(tenant: string): string {
  const secret = (name: SecretName) => `{ env: ${variable(tenant, name)} }`;
  return `version: 1
tenant: ${tenant}
name: Tenant ${tenant}
baseUrl: http://127.0.0.1:8080
keys:
  admin: [{ name: ops, secret: ${secret("ADMIN_KEY")} }]
  public: [{ name: web, secret: ${secret("PUBLIC_KEY")} }]
auth:
  jwt: { algorithm: HS256, secret: ${secret("JWT_SECRET")} }
kyc: { required: false }
webhooks:
  inbound:
    secrets: [${secret("WEBHOOK_SECRET")}]
audit: { key: ${secret("AUDIT_KEY")} }
treasury: { capitalUsd: 100000000 }
markets: { liquidityUsd: 100000 }
policy: { feeBps: 100, maxTradeUsd: 1000, maxUserExposureUsd: 1000000000 }
rateLimit: { perMinute: 1000000 }
server: { hosts: [${hostOf(tenant)}] }
`;
}

/**
 * Applies tenants by the command line. The busy ones also get markets and funded traders. All databases but the first begin
 * as copies of one that is migrated and empty, which saves most of an apply.
 */
export async function openEstate(count: number, busy: number): Promise<Estate> {
  const operator = await newOperator({ cluster: "none" });
  const { directory } = operator;
  const close = endedWithBench(operator.close);
  const cluster = embeddedCluster(directory);
  const tenants = Array.from({ length: count }, (_, index) => `t${String(index).padStart(3, "0")}`);
  const secrets = new Map(
    tenants.flatMap((tenant) => SECRETS.map((name) => [variable(tenant, name), newSecret(name)])),
  );
  const secret = (tenant: string, name: SecretName) => secrets.get(variable(tenant, name)) ?? "";
  try {
    const lines = [...secrets].map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(directory, ".env"), lines.join(""), { mode: 0o600 });
    for (const tenant of tenants) {
      await mkdir(join(directory, "tenants", tenant), { recursive: true });
      await writeFile(join(directory, "tenants", tenant, "tenant.yaml"), tenantFile(tenant));
    }
    await cluster.start();
    await prepareDatabase({ connection: cluster.connection(TEMPLATE) });
    await withClient(cluster.connection("postgres"), { name: "copy", max: 1 }, async (sql) => {
      for (const tenant of tenants) await sql`create database ${sql(tenant)} template ${sql(TEMPLATE)}`;
    });
    await runCommand(directory, "apply", "t*", "--quiet");
    const scenes = new Map<string, readonly Buffer[]>();
    for (const tenant of tenants.slice(0, busy)) {
      const auditSecret = secret(tenant, "AUDIT_KEY");
      const services = await openTenant({ tenantId: tenant, connection: cluster.connection(tenant), auditSecret });
      const markets = await fundTraders(services)
        .then(() => createMarkets(services))
        .finally(() => services.close());
      const signingKey = new TextEncoder().encode(secret(tenant, "JWT_SECRET"));
      const tokens = await Promise.all(Array.from({ length: TRADERS }, (_, trader) => tokenOf(trader, signingKey)));
      scenes.set(tenant, tradesOf(tenant, { publicKey: secret(tenant, "PUBLIC_KEY"), markets, tokens }));
    }
    return { directory, tenants, trades: (tenant) => scenes.get(tenant) ?? [], close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Scene {
  publicKey: string;
  markets: readonly string[];
  tokens: readonly string[];
}

function tradesOf(tenant: string, { publicKey, markets, tokens }: Scene): Buffer[] {
  return Array.from({ length: VARIANTS }, (_, index) =>
    requestBytes(
      "POST",
      "/v1/trade",
      { host: hostOf(tenant), "x-api-key": publicKey, authorization: `Bearer ${tokens[index % tokens.length]}` },
      {
        marketId: markets[(index * 37) % markets.length],
        selection: { side: index % 2 === 0 ? "yes" : "no" },
        amount: 1 + (index % 7),
      },
    ),
  );
}

function tokenOf(trader: number, key: Uint8Array): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(traderOf(trader))
    .setIssuedAt()
    .setExpirationTime("6h")
    .sign(key);
}
