import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import type { TenantServer } from "../../app/serve/tenant-server.ts";
import type { ReadyTenant } from "../../app/tenant/ready-tenant.ts";
import { tenantPath } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { portNumber } from "../input/parsers.ts";
import type { View } from "../output/output.ts";
import type { DemoSummary, Stage } from "./demo-story.ts";
import { addShowOptions, type ShowOptions, showPage } from "./show-page.ts";

const TENANT = "demo";
const PACKAGED = fileURLToPath(new URL(`../../../tenants/${TENANT}/tenant.yaml`, import.meta.url));

interface DemoOptions extends ShowOptions {
  once?: boolean;
  port?: number;
  host?: string;
  /** False with `--no-crowd`. */
  crowd?: boolean;
}

interface DemoAddresses {
  tenant: string;
  url: string;
  playgroundUrl: string;
  opsUrl: string;
  adminKey: string;
  publicKey: string;
  userId: string;
  userToken: string;
  crowd: readonly string[];
  curl: string[];
}

const summaryView: View<DemoSummary, DemoSummary> = {
  kind: "record",
  fields: ({ markets, trades, reconciliation, audit, seconds }) => [
    ["markets settled", String(markets.length)],
    ["trades", String(trades)],
    ["discrepancy", String(reconciliation.discrepancy)],
    ["audit entries", `${audit.count}, ${audit.verified ? "verified" : "broken"}`],
    ["seconds", String(seconds)],
  ],
};

const addressView: View<DemoAddresses, DemoAddresses> = {
  kind: "text",
  text: ({ url, playgroundUrl, opsUrl, adminKey, publicKey, userId, userToken, crowd, curl }) =>
    [
      `playground ${playgroundUrl}    (open it in a browser)`,
      `API        ${url}    (described at ${url}/openapi.json)`,
      `operations ${opsUrl}    (/livez, /readyz, /metrics)`,
      `admin key  ${adminKey}`,
      `public key ${publicKey}`,
      `${userId}'s token, valid for an hour:`,
      userToken,
      ...(crowd.length === 0 ? [] : ["", `${listed(crowd)} are programs that make small trades, so that prices move.`]),
      "",
      ...curl,
    ].join("\n"),
};

const listed = (names: readonly string[]) => `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

export function register(noun: Command, host: Host): void {
  host.add<DemoOptions>(
    addShowOptions(
      noun
        .option("--once", "run one market of each kind to the end, check everything, and stop")
        .option("--port <n>", "port of the API; 0 takes any free one", portNumber)
        .option("--host <address>", "address to listen on, instead of the file's")
        .option("--no-crowd", "leave the markets to you: no program trades while it serves")
        .description("a tenant with markets, money and a server, from nothing"),
    ),
    { names: "tenant url playgroundUrl opsUrl adminKey publicKey userId userToken curl" },
    runDemo,
  );
}

/** Provisions the demo tenant, serves it, and leaves no process behind when it ends. */
export async function runDemo({ options, io, interrupts }: CommandContext<DemoOptions>): Promise<ExitCode> {
  const startedAt = performance.now();
  const stopped = interrupts.take();
  const directory = process.cwd();
  const [{ ensureDemoSecrets }, { applyTenant }, { overDatabase }, { readyTenant }, { embeddedCluster }] =
    await Promise.all([
      import("../../app/serve/demo-secrets.ts"),
      import("../../app/apply/apply-tenant.ts"),
      import("../../app/tenant/config-session.ts"),
      import("../../app/tenant/ready-tenant.ts"),
      import("../../postgres/embedded/cluster.ts"),
    ]);
  await ensureDemoSecrets(directory);
  const cluster = embeddedCluster(directory);
  const wasRunning = (await cluster.status()).running;
  try {
    io.output.note("Starting PostgreSQL and applying tenants/demo");
    const own = tenantPath(directory, TENANT);
    const tenant = await readyTenant(directory, TENANT, existsSync(own) ? own : PACKAGED);
    // Whatever was tried out on an earlier demo stays, and the demo's own file may say what it likes.
    const choose = () => ({ onDrift: "adopt", acceptLoosening: true }) as const;
    const session = overDatabase(tenant, { reason: "demo" });
    try {
      await applyTenant(session, choose);
    } finally {
      await session.close();
    }
    const server = await serveSomewhere(tenant, options);
    try {
      return await play(tenant, server, { options, io, startedAt, stopped });
    } finally {
      await server.close();
    }
  } finally {
    // A database that other commands of the directory were using stays.
    if (!wasRunning) await cluster.stop();
  }
}

/** The tenant's own port if it is free and none was asked for, else any. */
async function serveSomewhere(tenant: ReadyTenant, { once, port, host, crowd }: DemoOptions): Promise<TenantServer> {
  const [{ serveTenant }, { playgroundTokens }, { CROWD }] = await Promise.all([
    import("../../app/serve/tenant-server.ts"),
    import("./demo-story.ts"),
    import("../../app/serve/demo-crowd.ts"),
  ]);
  const playground = { tokens: () => playgroundTokens(tenant), crowd: crowd === false ? [] : CROWD };
  const stage = { ...tenant, host, playground };
  if (once && port === undefined) return serveTenant({ ...stage, port: 0, opsPort: 0 });
  try {
    return await serveTenant({ ...stage, port, ...(port === undefined ? {} : { opsPort: 0 }) });
  } catch (error) {
    if (port !== undefined || !(error instanceof Fault) || error.code !== "USAGE") throw error;
    return serveTenant({ ...stage, port: 0, opsPort: 0 });
  }
}

interface Scene {
  options: DemoOptions;
  io: Io;
  startedAt: number;
  stopped: AbortSignal;
}

async function play(tenant: ReadyTenant, server: TenantServer, scene: Scene): Promise<ExitCode> {
  const { options, io, startedAt, stopped } = scene;
  const [story, { tenantFetch }] = await Promise.all([import("./demo-story.ts"), import("../../app/doors/trust.ts")]);
  const own = { id: tenant.config.tenant, directory: tenant.directory, config: tenant.config };
  const fetch = await tenantFetch(own, { url: server.localUrl, proven: true });
  const stage = story.setStage(tenant, server.localUrl, fetch);
  if (options.once) {
    await io.output.print(await story.runOnce(stage, io.output, startedAt), summaryView);
    return EXIT.ok;
  }
  io.output.note("Verifying and funding two traders, trading");
  const { items: markets } = await stage.admin.listMarkets({ limit: 200 });
  await story.admitTraders(stage);
  const ids = markets.map(({ id }) => id);
  await story.tradeOn(stage, ids);
  const { CROWD, Crowd } = await import("../../app/serve/demo-crowd.ts");
  const crowd = options.crowd === false ? undefined : new Crowd(server.services);
  await crowd?.join(TENANT);
  const printed = await addresses(stage, server, ids[0] ?? "");
  await io.output.print({ ...printed, crowd: crowd ? CROWD : [] }, addressView);
  await showPage({ url: printed.playgroundUrl, host: options.host ?? tenant.config.server.host }, options, io.output);
  io.output.note("\nCtrl-C ends the demo.");
  const trading = crowd?.start(ids, (error) => io.output.note(`The demo's traders rest: ${String(error)}`));
  if (!stopped.aborted) await once(stopped, "abort");
  await trading?.stop();
  return EXIT.ok;
}

async function addresses(
  stage: Stage,
  { url, opsUrl }: TenantServer,
  marketId: string,
): Promise<Omit<DemoAddresses, "crowd">> {
  const { adminKey, publicKey } = stage;
  const userId = "alice";
  const userToken = await stage.userToken(userId);
  const trade = JSON.stringify({ marketId, selection: { side: "yes" }, amount: 5 });
  return {
    tenant: TENANT,
    url,
    playgroundUrl: `${url}/playground`,
    opsUrl,
    adminKey,
    publicKey,
    userId,
    userToken,
    curl: [
      `curl -s ${url}/v1/markets -H 'x-api-key: ${publicKey}'`,
      `curl -s ${url}/v1/trade -H 'x-api-key: ${publicKey}' -H 'authorization: Bearer ${userToken}' -H 'content-type: application/json' -d '${trade}'`,
      `curl -s -X POST ${url}/v1/reconcile -H 'x-api-key: ${adminKey}'`,
    ],
  };
}
