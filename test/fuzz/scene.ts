import { createHash } from "node:crypto";
import { pino } from "pino";
import { localApi } from "../../src/client/local-api.ts";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import { kycProvider } from "../../src/providers/kyc.ts";
import { Metrics } from "../../src/server/observe/metrics.ts";
import { type RunningServer, startServer } from "../../src/server/server.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { configOf, marketOf, usd } from "../engine/world.ts";
import { SECRETS, TENANT } from "../model/tenant.ts";
import { copyDatabase, type TestDatabase } from "../support/database-copy.ts";
import { Finding } from "./target.ts";

export const PROVIDER_SECRET = "an identity provider's secret, 32 bytes or more";
export const USERS = ["usr_1", "usr_2"] as const;
export type ProviderName = Parameters<typeof kycProvider>[0]["provider"];

/** A tenant with markets, money and a server, in a database of its own. */
export class Scene {
  readonly services: TenantServices;
  readonly server: RunningServer;
  readonly #database: TestDatabase;
  readonly #metrics: Metrics;
  readonly #errors: string[];

  private constructor(
    services: TenantServices,
    server: RunningServer,
    database: TestDatabase,
    metrics: Metrics,
    errors: string[],
  ) {
    this.services = services;
    this.server = server;
    this.#database = database;
    this.#metrics = metrics;
    this.#errors = errors;
  }

  static async open(template: ClusterConnection, provider: ProviderName): Promise<Scene> {
    const database = await copyDatabase(template);
    const { connection } = database;
    const services = await openTenant({ tenantId: TENANT, connection, auditSecret: SECRETS.ACME_AUDIT_KEY });
    const key = (name: string, type: "admin" | "public", value: string) => ({
      hash: createHash("sha256").update(value).digest("hex"),
      name,
      type,
      expiresAt: null,
    });
    const keys = [key("ops", "admin", SECRETS.ACME_ADMIN_KEY), key("web", "public", SECRETS.ACME_PUBLIC_KEY)];
    const submit = services.sequencer.submit.bind(services.sequencer);
    await submit({ command: configOf({ keys }), actor: "cli:test" });
    const closeAt = Date.now() + 86_400_000;
    for (const [id, kind] of [
      ["m1", "cpmm"],
      ["m2", "lmsr"],
      ["m3", "cpmm"],
    ] as const)
      await submit({ command: marketOf({ id, kind, closeAt }), actor: "admin:ops" });
    for (const traderId of USERS) {
      const deposit = { type: "recordDeposit", provider: "payments", traderId, reference: traderId } as const;
      await submit({ command: { ...deposit, amountMicro: usd(1_000_000) }, actor: "provider:payments" });
    }
    const metrics = new Metrics();
    const errors: string[] = [];
    // What is logged as an error is our failure, whatever the answer was.
    const log = pino({ level: "error" }, { write: (line: string) => void errors.push(line) });
    const endpoint = { secrets: [SECRETS.ACME_WEBHOOK_SECRET], scheme: "any" } as const;
    const server = await startServer(
      {
        tenantId: TENANT,
        services,
        pool: services.pool,
        jwt: { algorithm: "HS256", secret: SECRETS.ACME_JWT_SECRET },
        webhookSecrets: { kyc: endpoint, payments: endpoint, oracle: endpoint },
        stripeSecrets: [SECRETS.ACME_STRIPE_SECRET],
        kycProvider: kycProvider({ provider, secrets: [PROVIDER_SECRET] }),
        corsOrigins: ["https://www.acme.example"],
        trustProxy: [],
        rateLimit: { perMinute: 1_000_000 },
        // A count that a busy machine delays is not what is looked for.
        countTimeoutMs: 60_000,
        isDatabaseUp: services.isDatabaseUp,
        metrics,
        lastRequestMs: 20,
        log,
      },
      { host: "127.0.0.1", port: 0, opsPort: 0 },
    );
    return new Scene(services, server, database, metrics, errors);
  }

  /** @throws Finding unless the ledger sums to zero, the chain holds, and no answer was other than the contract says */
  async check(): Promise<void> {
    const [error] = this.#errors;
    if (error) throw new Finding(`an error was logged: ${error}`);
    const text = await this.#metrics.text();
    const mismatch = /^pmctl_contract_mismatches_total\{.*\} [1-9].*$/m.exec(text);
    if (mismatch) throw new Finding(`an answer breaks the contract: ${mismatch[0]}`);
    const operator = localApi(this.services.handlers, { actor: "cli:test" });
    const { ok, ...checks } = await operator.reconcile({});
    if (!ok) throw new Finding(`the ledger does not hold: ${JSON.stringify(checks)}`);
    if (!(await operator.getAuditStatus({})).verified) throw new Finding("the audit chain does not hold");
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.services.close();
    await this.#database.drop();
  }
}
