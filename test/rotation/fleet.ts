import { createHmac } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { expect, inject } from "vitest";
import { serveTenant, type TenantServer } from "../../src/app/serve/tenant-server.ts";
import { readDeclaredTenant } from "../../src/app/tenant/operator-tenant.ts";
import { readyTenant } from "../../src/app/tenant/tenant-database.ts";
import { copyDatabase, type TestDatabase } from "../support/database-copy.ts";
import { newOperator, type Operator } from "../support/operator.ts";

export const TENANT = "acme";
/** Between two requests of a client. */
const PAUSE_MS = 20;
/** What each client does at least before and after each step, so that no step goes by without a request. */
const ROUNDS = 4;

const env = (name: string) => ({ env: `ACME_${name}` });

/** Values of the secrets by their variables. */
export type Values = Record<`ACME_${string}`, string>;

/** The sections of a tenant file; JSON is YAML. */
export type Sections = Record<string, unknown>;

const VALUES: Values = {
  ACME_ADMIN_KEY: `sk_${"A".repeat(43)}`,
  ACME_READ_KEY: `sk_${"R".repeat(43)}`,
  ACME_PUBLIC_KEY: `pk_${"B".repeat(43)}`,
  ACME_JWT_SECRET: "a JWT secret of the rotation, of 32 bytes and more",
  ACME_WEBHOOK_SECRET: "a webhook secret of the rotation, of 32 bytes and more",
  ACME_AUDIT_KEY: "an audit key of the rotation, of 32 bytes and more",
};

const SECTIONS: Sections = {
  version: 1,
  tenant: TENANT,
  baseUrl: "https://predict.acme.example",
  database: { url: env("DATABASE_URL"), ownerUrl: env("OWNER_URL") },
  keys: {
    admin: [
      { name: "ops", secret: env("ADMIN_KEY") },
      { name: "ci", secret: env("READ_KEY"), scopes: ["read"] },
    ],
    public: [{ name: "web", secret: env("PUBLIC_KEY") }],
  },
  auth: { jwt: { algorithm: "HS256", secret: env("JWT_SECRET") } },
  kyc: { required: false },
  webhooks: { inbound: { secrets: [env("WEBHOOK_SECRET")] } },
  audit: { key: env("AUDIT_KEY") },
  treasury: { capitalUsd: 1_000_000 },
  policy: { jurisdictions: { blocked: [] } },
  rateLimit: { perMinute: 1_000_000 },
  network: { allowPrivate: ["127.0.0.0/8"] },
};

/** What a client of the load asks; `credentials` are those that clients hold at the moment. */
export type Ask = (url: string, count: number) => Promise<{ status: number; text(): Promise<string> }>;

interface Client {
  name: string;
  ask: Ask;
  done: number;
}

/** Where a fleet's database is, and how it goes away. */
export type Place = Pick<TestDatabase, "url" | "serverUrl" | "drop">;

/**
 * A tenant that two servers serve, as `pmctl serve` runs them, behind what sends requests to those that are in service: a
 * server is taken out before it is stopped, and comes back when it listens, as every balancer does it.
 */
export class Fleet {
  readonly operator: Operator;
  readonly values: Values;
  sections: Sections;
  /** Requests that were not answered with 200. */
  readonly failures: string[] = [];
  readonly #place: Place;
  #servers: TenantServer[] = [];
  #clients: Client[] = [];
  #loops: Promise<void>[] = [];
  #stopped = false;

  private constructor(operator: Operator, place: Place, sections: Sections, values: Values) {
    this.operator = operator;
    this.#place = place;
    this.sections = sections;
    this.values = values;
  }

  /** @param own sections and values in place of the usual ones */
  static async open(own: { sections?: Sections; values?: Values; place?: Place; files?: Record<string, string> } = {}) {
    const place = own.place ?? (await copyDatabase(inject("postgres")));
    const urls = { ACME_DATABASE_URL: place.serverUrl, ACME_OWNER_URL: place.url };
    const operator = await newOperator({ cluster: "none" });
    const fleet = new Fleet(operator, place, { ...SECTIONS, ...own.sections }, { ...VALUES, ...urls, ...own.values });
    await mkdir(fleet.folder, { recursive: true });
    for (const [name, text] of Object.entries(own.files ?? {})) await fleet.put(name, text);
    await fleet.change({});
    fleet.#servers = [await fleet.#start(), await fleet.#start()];
    return fleet;
  }

  get folder(): string {
    return join(this.operator.directory, "tenants", TENANT);
  }

  /** The addresses of the servers that are in service. */
  get urls(): string[] {
    return this.#servers.map(({ url }) => url);
  }

  /** Writes a file into the tenant's folder. */
  async put(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text, { mode: 0o600 });
  }

  /** Writes the tenant file and the secrets, and applies them. */
  async change({ sections = {}, values = {} }: { sections?: Sections; values?: Values }): Promise<void> {
    this.sections = { ...this.sections, ...sections };
    Object.assign(this.values, values);
    await this.put("tenant.yaml", JSON.stringify(this.sections));
    const lines = Object.entries(this.values).map(([name, value]) => `${name}="${value}"`);
    await writeFile(join(this.operator.directory, ".env"), lines.join("\n"), { mode: 0o600 });
    const applied = await this.operator.run("apply", TENANT, "--yes", "--accept-loosening");
    expect(applied.exitCode, applied.stderr).toBe(0);
  }

  /**
   * Restarts the servers one after the other; the other one keeps serving. A server that ends waits for the last requests
   * of its connections; this function does not wait for that.
   */
  async roll(between: () => Promise<void> = async () => undefined): Promise<void> {
    const closing: Promise<void>[] = [];
    for (const server of [...this.#servers]) {
      this.#servers = this.#servers.filter((each) => each !== server);
      closing.push(server.close());
      this.#servers.push(await this.#start());
      await this.everyClient();
      await between();
    }
    await Promise.all(closing);
  }

  /** Has a client ask again and again, both servers by turns, for as long as the fleet is open. */
  load(name: string, ask: Ask): void {
    const client: Client = { name, ask, done: 0 };
    this.#clients.push(client);
    this.#loops.push(this.#loop(client));
  }

  /** Resolves when every client was answered some more. */
  async everyClient(): Promise<void> {
    const wanted = this.#clients.map((client) => [client, client.done + ROUNDS] as const);
    while (this.failures.length === 0 && wanted.some(([client, count]) => client.done < count)) await delay(PAUSE_MS);
    expect(this.failures).toEqual([]);
  }

  /** What each server answers to one request. */
  async ofEach(ask: Ask): Promise<number[]> {
    const statuses: number[] = [];
    for (const url of this.urls) statuses.push((await ask(url, 1_000_000 + statuses.length)).status);
    return statuses;
  }

  /** Ends the load; no request of it has failed. */
  async quiet(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
    expect(this.failures).toEqual([]);
    for (const { name, done } of this.#clients) expect([name, done >= ROUNDS]).toEqual([name, true]);
    this.#clients = [];
    this.#loops = [];
    this.#stopped = false;
  }

  async close(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
    await Promise.all(this.#servers.map((server) => server.close()));
    await this.operator.close();
    await this.#place.drop();
  }

  async #start(): Promise<TenantServer> {
    const tenant = await readyTenant(readDeclaredTenant(this.operator.directory, TENANT));
    return serveTenant({ ...tenant, log: pino({ level: "silent" }), host: "127.0.0.1", port: 0, opsPort: 0 });
  }

  async #loop(client: Client): Promise<void> {
    for (let count = 0; !this.#stopped && this.failures.length === 0; count++) {
      const url = this.urls[count % this.urls.length] ?? "";
      try {
        const answer = await client.ask(url, count);
        if (answer.status !== 200) this.failures.push(`${client.name}: ${answer.status} ${await answer.text()}`);
        else await answer.text();
      } catch (error) {
        this.failures.push(`${client.name}: ${error}`);
      }
      client.done += 1;
      await delay(PAUSE_MS);
    }
  }
}

/** A request with a body of JSON, and these headers. */
export function post(url: string, path: string, body: object | string, headers: Record<string, string>) {
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** A generic webhook of a provider. */
export function signedPost(url: string, path: string, body: object, secret: string, header = "x-signature") {
  const text = JSON.stringify(body);
  return post(url, `${path}/${TENANT}`, text, { [header]: createHmac("sha256", secret).update(text).digest("hex") });
}

/** A market so deep that no trade moves its price far. */
export async function openMarket(fleet: Fleet, change: object = {}): Promise<string> {
  const market = {
    question: "Will it rain?",
    category: "weather",
    kind: "lmsr",
    p0: 0.5,
    closeAt: "2096-01-01T00:00:00Z",
    resolutionRef: "manual",
    ...change,
  };
  const [url = ""] = fleet.urls;
  const answer = await post(url, "/v1/markets", market, { "x-api-key": fleet.values.ACME_ADMIN_KEY ?? "" });
  const created = (await answer.json()) as { id: string };
  expect(answer.ok, JSON.stringify(created)).toBe(true);
  return created.id;
}

/** A payment provider's webhook about a user's deposit. */
export function deposit(url: string, userId: string, txRef: string, secret: string) {
  const event = { event: "deposit.completed", userId, amountUsd: 1000, txRef };
  return signedPost(url, "/payments/inbound", event, secret);
}

/** A trade of a user. */
export function trade(url: string, marketId: string, token: string, publicKey: string) {
  const order = { marketId, selection: { side: "yes" }, amount: 1 };
  return post(url, "/v1/trade", order, { "x-api-key": publicKey, authorization: `Bearer ${token}` });
}
