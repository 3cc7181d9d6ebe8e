import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { SignJWT } from "jose";
import { type Cluster, embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { createMarkets, fundTraders, TRADERS, traderOf } from "./scene.ts";

const TENANT = "bench";
/** As long as `pmctl up` waits for its servers. */
const END_WITHIN_MS = 30_000;
const SERVE_OPTIONS = ["--port", "0", "--ops-port", "0", "-o", "ndjson", "--quiet"];

/** Nothing that a trader is held back by, and capital for all markets. */
const TENANT_FILE = `version: 1
tenant: bench
name: Bench
baseUrl: http://127.0.0.1:8080
keys:
  admin: [{ name: ops, secret: { env: BENCH_ADMIN_KEY } }]
  public: [{ name: web, secret: { env: BENCH_PUBLIC_KEY } }]
auth:
  jwt: { algorithm: HS256, secret: { env: BENCH_JWT_SECRET } }
kyc: { required: false }
webhooks:
  inbound:
    secrets: [{ env: BENCH_WEBHOOK_SECRET }]
audit: { key: { env: BENCH_AUDIT_KEY } }
treasury: { capitalUsd: 100000000 }
markets: { liquidityUsd: 100000 }
policy: { feeBps: 100, maxTradeUsd: 1000, maxUserExposureUsd: 1000000000 }
`;

export interface BenchServer {
  port: number;
  opsUrl: string;
  pid: number;
  /** Resolves when the process is gone. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** A directory with one tenant, its database, markets and funded traders, and the servers that run on it. */
export interface Stage {
  directory: string;
  cluster: Cluster;
  secrets: Record<"adminKey" | "publicKey" | "auditSecret", string>;
  markets: readonly string[];
  /** Bearer tokens of the traders, by their number. */
  tokens: readonly string[];
  /** As `pmctl serve` from the sources, on free ports, for any number of requests. */
  serve(...flags: string[]): Promise<BenchServer>;
  /** The built `pmctl serve` itself, with its limit of requests. */
  serveBuilt(): Promise<BenchServer>;
  /** Runs the command line to its end. */
  run: Operator["run"];
  /** Services within this process. */
  withServices<Value>(work: (services: TenantServices) => Promise<Value>): Promise<Value>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const operator = await newOperator({ cluster: "none" });
  const { directory } = operator;
  const children = new Set<ChildProcess>();
  const close = async () => {
    for (const child of children) child.kill("SIGKILL");
    await operator.close();
  };
  try {
    for (const command of ["init", "apply"]) {
      const { exitCode, stderr } = await operator.run(command, TENANT);
      if (exitCode !== 0) throw new Error(`${command}: ${stderr}`);
      if (command === "init") await writeFile(join(directory, "tenants", TENANT, "tenant.yaml"), TENANT_FILE);
    }
    const found = await operator.secrets();
    const secret = (name: string) => found[`BENCH_${name}`] ?? "";
    const secrets = {
      adminKey: secret("ADMIN_KEY"),
      publicKey: secret("PUBLIC_KEY"),
      auditSecret: secret("AUDIT_KEY"),
    };
    const cluster = embeddedCluster(directory);
    const withServices: Stage["withServices"] = async (work) => {
      const { auditSecret } = secrets;
      const services = await openTenant({ tenantId: TENANT, connection: cluster.connection(TENANT), auditSecret });
      try {
        return await work(services);
      } finally {
        await services.close();
      }
    };
    const markets = await withServices(async (services) => {
      await fundTraders(services);
      return createMarkets(services);
    });
    const tokens = await Promise.all(
      Array.from({ length: TRADERS }, (_, index) => tokenOf(traderOf(index), secret("JWT_SECRET"))),
    );
    const start = (args: string[]) => startServer(args, directory, children);
    const serve: Stage["serve"] = (...flags) => start([fileOf("./server.ts"), directory, TENANT, ...flags]);
    const serveBuilt = () => start([fileOf("../../bin/pmctl.js"), "serve", TENANT, ...SERVE_OPTIONS]);
    return { directory, cluster, secrets, markets, tokens, serve, serveBuilt, run: operator.run, withServices, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function fileOf(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

async function startServer(args: string[], cwd: string, children: Set<ChildProcess>): Promise<BenchServer> {
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  const ended = once(child, "exit").finally(() => children.delete(child));
  const [line] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then(([code]) => Promise.reject(new Error(`The server ended with ${code}`))),
  ]);
  const { url, opsUrl } = JSON.parse(String(line)) as { url: string; opsUrl: string };
  return {
    port: Number(new URL(url).port),
    opsUrl,
    pid: child.pid ?? 0,
    end: async (signal) => {
      child.kill(signal);
      const tooLate = delay(END_WITHIN_MS, "too late", { ref: false });
      if ((await Promise.race([ended, tooLate])) !== "too late") return;
      child.kill("SIGKILL");
      throw new Error(`The server did not end within ${END_WITHIN_MS / 1000} s of ${signal}`);
    },
  };
}

function tokenOf(userId: string, jwtSecret: string): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(userId)
    .setIssuedAt()
    .setExpirationTime("6h")
    .sign(new TextEncoder().encode(jwtSecret));
}
