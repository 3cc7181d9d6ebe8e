import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { Pool } from "undici";
import { serveTenant } from "../../src/app/serve/tenant-server.ts";
import { readDeclaredTenant } from "../../src/app/tenant/operator-tenant.ts";
import { readyTenant } from "../../src/app/tenant/tenant-database.ts";
import { connect } from "../../src/postgres/connect.ts";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import { copyDatabase, type TestDatabase } from "../support/database-copy.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { LossyProxy } from "./lossy-proxy.ts";
import type { TenantPlan } from "./steps.ts";
import { SECRETS, signatureOf, TENANT, tenantFile, tokenOf } from "./tenant.ts";

/** What a server answered. */
export interface Answer {
  status: number;
  code: string | undefined;
  body: Record<string, unknown>;
  nextCursor: string | undefined;
}

export interface Message {
  method: "GET" | "POST" | "PUT";
  path: string;
  text?: string | undefined;
  /** The value of an API key. */
  apiKey?: string | undefined;
  user?: string | undefined;
  claimed?: string | undefined;
  idempotencyKey?: string | undefined;
  signed?: boolean;
}

interface Server {
  url: string;
  pool: Pool;
  proxy: LossyProxy;
  stop(how: "kill" | "orderly"): Promise<void>;
}

/** The service under test: a database of its own, a tenant that has been applied, and two servers on it. */
export class World {
  readonly operator: Operator;
  readonly #servers: [Server, Server];
  readonly #start: () => Promise<Server>;
  readonly #drop: () => Promise<void>;
  readonly #tokens = new Map<string, string>();

  private constructor(
    operator: Operator,
    servers: [Server, Server],
    start: () => Promise<Server>,
    drop: () => Promise<void>,
  ) {
    this.operator = operator;
    this.#servers = servers;
    this.#start = start;
    this.#drop = drop;
  }

  static async open(template: ClusterConnection, plan: TenantPlan): Promise<World> {
    const database = await copyDatabase(template);
    await keepPlans(database);
    const operator = await newOperator({ cluster: "none" });
    const folder = join(operator.directory, "tenants", TENANT);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "tenant.yaml"), tenantFile(plan));
    const urls = { ACME_DATABASE_URL: database.serverUrl, ACME_OWNER_URL: database.url };
    const lines = Object.entries({ ...SECRETS, ...urls }).map(([name, value]) => `${name}="${value}"`);
    await writeFile(join(operator.directory, ".env"), lines.join("\n"), { mode: 0o600 });
    const applied = await operator.run("apply", TENANT, "--yes", "--accept-loosening");
    if (applied.exitCode !== 0) throw new Error(`apply ended with ${applied.exitCode}: ${applied.stderr}`);
    const start = plan.servers === "within" ? () => serveWithin(operator.directory) : () => serveProcess(operator);
    const servers: [Server, Server] = [await start(), await start()];
    return new World(operator, servers, start, database.drop);
  }

  /** Asks one of the servers and waits for the answer. */
  async send(server: 0 | 1, message: Message): Promise<Answer> {
    const { statusCode, headers, body } = await this.#servers[server].pool.request({
      method: message.method,
      path: message.path,
      headers: this.#headersOf(message),
      body: message.text ?? null,
    });
    const text = await body.text();
    const code = headers["error-code"];
    return {
      status: statusCode,
      code: code === undefined ? undefined : String(code),
      body: JSON.parse(text) as Record<string, unknown>,
      nextCursor: headers["next-cursor"] === undefined ? undefined : String(headers["next-cursor"]),
    };
  }

  /** Asks, and loses the answer on the way. */
  async lose(server: 0 | 1, message: Message): Promise<void> {
    const headers = { ...this.#headersOf(message), connection: "close" };
    const lost = fetch(this.#servers[server].proxy.url + message.path, {
      method: message.method,
      headers,
      ...(message.text === undefined ? {} : { body: message.text }),
    });
    await lost.then(
      () => {
        throw new Error("an answer came through the proxy that drops them");
      },
      () => undefined,
    );
  }

  /** Asks a server and kills its process while it works; whether an answer came does not matter. */
  async killDuring(server: 0 | 1, message: Message): Promise<void> {
    const asked = this.send(server, message).catch(() => undefined);
    await this.restart(server, "kill");
    await asked;
  }

  async restart(server: 0 | 1, how: "kill" | "orderly"): Promise<void> {
    await this.#servers[server].stop(how);
    this.#servers[server] = await this.#start();
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server.stop("orderly");
    await this.operator.close();
    await this.#drop();
  }

  #headersOf({ path, text, apiKey, user, claimed, idempotencyKey, signed }: Message): Record<string, string> {
    const now = Date.now();
    return {
      ...(text === undefined ? {} : { "content-type": "application/json" }),
      ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
      ...(user === undefined ? {} : { authorization: `Bearer ${this.#tokenOf(user, claimed)}` }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      ...(signed ? signatureOf(path, text ?? "", now) : {}),
    };
  }

  #tokenOf(user: string, claimed: string | undefined): string {
    const name = `${user} ${claimed ?? ""}`;
    const token = this.#tokens.get(name) ?? tokenOf(user, claimed, Date.now());
    this.#tokens.set(name, token);
    return token;
  }
}

/** Each statement is planned once: planning the many small reads costs the database twice what answering them does. */
async function keepPlans({ connection }: TestDatabase): Promise<void> {
  const sql = connect(connection, { name: "model", max: 1 });
  try {
    await sql`alter database ${sql(connection.database)} set plan_cache_mode = force_generic_plan`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function asServer(url: string, stop: Server["stop"]): Promise<Server> {
  const pool = new Pool(url, { connections: 16, keepAliveTimeout: 30_000 });
  const proxy = await LossyProxy.before(url);
  return {
    url,
    pool,
    proxy,
    stop: async (how) => {
      proxy.close();
      await pool.destroy();
      await stop(how);
    },
  };
}

/** A server in this process, as `pmctl serve` runs it. */
async function serveWithin(directory: string): Promise<Server> {
  const tenant = await readyTenant(readDeclaredTenant(directory, TENANT));
  const server = await serveTenant({
    ...tenant,
    log: pino({ level: "silent" }),
    host: "127.0.0.1",
    port: 0,
    opsPort: 0,
    sweep: false,
  });
  return asServer(server.url, () => server.close());
}

async function serveProcess(operator: Operator): Promise<Server> {
  const server = await operator.serve(TENANT, "--no-sweep");
  return asServer(server.url, async (how) => {
    await server.kill(how === "kill" ? "SIGKILL" : "SIGTERM");
  });
}
