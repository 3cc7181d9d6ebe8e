import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { execa } from "execa";
import { readDeclaredTenant } from "../../../src/app/tenant/operator-tenant.ts";
import { tenantFeeds } from "../../../src/app/tenant/tenant-oracle.ts";
import { canonicalJson } from "../../../src/domain/audit/audit-link.ts";
import { DAY_MS } from "../../../src/domain/time/units.ts";
import { connect } from "../../../src/postgres/connect.ts";
import { embeddedCluster } from "../../../src/postgres/embedded/cluster.ts";
import { serverLogin } from "../../../src/postgres/embedded/settings.ts";
import { prepareDatabase } from "../../../src/services/tenant/provision.ts";
import { OUTPUT } from "../../support/browser.ts";
import { Past } from "./past.ts";
import { type Size, Story } from "./story.ts";

const TENANT = "big";
const PMCTL = fileURLToPath(new URL("../../../bin/pmctl.js", import.meta.url));
const CAPITAL_USD = 100_000_000;

/** Nothing that a trader is held back by. */
const POLICY = { feeBps: 100, maxTradeUsd: 1000, maxUserExposureUsd: 1_000_000_000 };
const TENANT_FILE = `version: 1
tenant: ${TENANT}
name: Big
baseUrl: http://127.0.0.1:8080
sandbox: true
keys:
  admin: [{ name: ops, secret: { env: BIG_ADMIN_KEY } }]
  public: [{ name: web, secret: { env: BIG_PUBLIC_KEY } }]
auth:
  jwt: { algorithm: HS256, secret: { env: BIG_JWT_SECRET } }
kyc: { required: false }
webhooks:
  inbound:
    secrets: [{ env: BIG_WEBHOOK_SECRET }]
audit: { key: { env: BIG_AUDIT_KEY } }
treasury: { capitalUsd: ${CAPITAL_USD} }
markets: { liquidityUsd: 100 }
policy: { feeBps: ${POLICY.feeBps}, maxTradeUsd: ${POLICY.maxTradeUsd}, maxUserExposureUsd: ${POLICY.maxUserExposureUsd} }
rateLimit: { perMinute: 100000 }
oracle:
  sources:
    made: { simulated: { start: 100000, volatility: 0.02, seed: 7 } }
  venues:
    pm:
      btc: { sources: [{ use: made, id: btc }], quorum: 1, maxAge: 60s }
`;

export type Secrets = Record<"ADMIN_KEY" | "PUBLIC_KEY" | "JWT_SECRET" | "AUDIT_KEY", string>;

/** The large tenant in a directory of its own, which is made once and kept. */
export interface BigTenant {
  secrets: Secrets;
  /** Starts `pmctl serve` as it is installed. */
  serve(): Promise<{ url: string; opsUrl: string; end(): Promise<void> }>;
  /** Stops the database; its files stay. */
  close(): Promise<void>;
}

export async function bigTenant(size: Size, say: (line: string) => void): Promise<BigTenant> {
  const directory = join(OUTPUT, `console-big-${size.markets}-${size.users}-${size.trades}`);
  const complete = join(directory, "complete");
  const cluster = embeddedCluster(directory);
  const owned = () => ({ connection: cluster.connection(TENANT), server: serverLogin(TENANT) });
  if (!existsSync(complete)) {
    if (existsSync(directory)) await cluster.stop();
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    await run(directory, "init", TENANT);
    await rm(join(directory, "tenants", TENANT, "markets"), { recursive: true, force: true });
    await rm(join(directory, "tenants", TENANT, "tests"), { recursive: true, force: true });
    await writeFile(join(directory, "tenants", TENANT, "tenant.yaml"), TENANT_FILE);
    await cluster.start(TENANT);
    await prepareDatabase(owned());
    await write(directory, owned().connection, await secretsOf(directory), size, say);
    await run(directory, "apply", TENANT, "--accept-loosening");
    await writeFile(complete, "");
  }
  await cluster.start(TENANT);
  await prepareDatabase(owned());
  return {
    secrets: await secretsOf(directory),
    serve: () => serve(directory),
    close: async () => void (await cluster.stop()),
  };
}

async function write(
  directory: string,
  connection: ReturnType<ReturnType<typeof embeddedCluster>["connection"]>,
  { AUDIT_KEY }: Secrets,
  size: Size,
  say: (line: string) => void,
): Promise<void> {
  const past = await Past.open(connection, AUDIT_KEY);
  const [endMs, capitalMicro] = [Date.now() - 60_000, BigInt(CAPITAL_USD) * 1_000_000n];
  const config = { policy: POLICY, kycRequired: false, liquidityMicro: 100_000_000n, capitalMicro, keys: [] };
  const document = {
    document: canonicalJson({ policy: POLICY }),
    documentSha256: "0".repeat(64),
    gitCommit: undefined,
  };
  await past.commit(
    [{ actor: "cli:ops", command: { type: "applyConfig", ...config, ...document } }],
    endMs - 401 * DAY_MS,
    { reads: true },
  );
  const { config: stated } = readDeclaredTenant(directory, TENANT);
  await new Story(past, size, tenantFeeds(stated).hashes, endMs).tell(say);
  await past.end();
  for (const [message, times] of past.refused) say(`refused ${times} times: ${message}`);
  const sql = connect(connection, { name: "big", max: 1 });
  await sql.unsafe("vacuum (analyze)");
  await sql.end({ timeout: 5 });
}

async function secretsOf(directory: string): Promise<Secrets> {
  const found = parseEnv(await readFile(join(directory, ".env"), "utf8"));
  const secret = (name: string) => found[`BIG_${name}`] ?? "";
  return {
    ADMIN_KEY: secret("ADMIN_KEY"),
    PUBLIC_KEY: secret("PUBLIC_KEY"),
    JWT_SECRET: secret("JWT_SECRET"),
    AUDIT_KEY: secret("AUDIT_KEY"),
  };
}

async function run(directory: string, ...args: string[]): Promise<void> {
  await execa(process.execPath, [PMCTL, ...args, "--yes"], { cwd: directory });
}

async function serve(directory: string): ReturnType<BigTenant["serve"]> {
  const args = [PMCTL, "serve", TENANT, "--port", "0", "--ops-port", "0", "-o", "ndjson", "--quiet"];
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const [line] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then(([code]) => Promise.reject(new Error(`The server ended with ${code}`))),
  ]);
  const { url, opsUrl } = JSON.parse(String(line)) as { url: string; opsUrl: string };
  return {
    url,
    opsUrl,
    end: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
