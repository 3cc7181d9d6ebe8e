import type { Command } from "commander";
import type { OperatorTenant } from "../../app/tenant/operator-tenant.ts";
import type { Session } from "../../app/tenant/session.ts";
import { loadEnvironment } from "../../config/environment.ts";
import type { TenantSecrets } from "../../config/resolve-tenant.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import type { FeedCheck } from "../../oracle/check.ts";
import type { OracleContext, SweepReport } from "../../oracle/context.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Status = WireResult<"getOracleStatus">;

/** A feed as the tenant has it. */
export interface FeedLine {
  feed: string;
  sources: string[];
  /** Sources that would need something of the tenant file, and what. */
  lacking: string[];
  quorum: number;
  maxAgeSec: number;
}

export function register(noun: Command, host: Host): void {
  host.add(
    noun.command("status").description("feeds, waiting markets, the last sweep and what it settled"),
    { operation: "getOracleStatus" },
    ({ options, io }) => withSession(options, io, (session) => runOracleStatus({}, session.api(), io)),
  );
  host.add(
    noun.command("feeds").description("every feed with its sources, as the tenant file has them"),
    { names: "feed sources lacking quorum maxAgeSec" },
    async ({ options, io }) => {
      const { readOperatorTenant } = await import("../../app/tenant/operator-tenant.ts");
      return runOracleFeeds(await feedLines(readOperatorTenant(options.tenant)), io);
    },
  );
  host.add(
    noun
      .command("check")
      .description("ask every source once, and say of each feed whether it could settle a market now; stores nothing")
      .argument("[feed...]", "only these feeds, such as pm:btc"),
    { names: "feed price ageSec spread session verdict detail" },
    async ({ options, args, io }) => {
      const secrets = await oracleSecrets(options.tenant);
      return withSession({ ...options, via: "db" }, io, (session) =>
        runOracleCheck({ named: args.length > 0, run: () => check(session, secrets, args) }, io),
      );
    },
  );
  host.add(
    noun.command("sweep").description("look once at every market whose time has come, straight on the database"),
    { names: "watched asked settled held" },
    async ({ options, io }) => {
      const secrets = await oracleSecrets(options.tenant);
      return withSession({ ...options, via: "db" }, io, (session) =>
        runOracleSweep(() => sweepOnce(session, secrets), io),
      );
    },
  );
}

const statusView: View<Status, Status> = {
  kind: "record",
  fields: ({ supportedFeeds, eligibleMarkets, lastSweepAt, recentResolutions }) => [
    ["feeds", String(supportedFeeds)],
    ["waiting markets", String(eligibleMarkets)],
    ["last sweep", lastSweepAt === null ? "never" : time(lastSweepAt, { seconds: true })],
    ...recentResolutions.map(({ ts, marketId, ref, price, strikes, outcome }): [string, string] => [
      time(ts, { seconds: true }),
      `${marketId} ${outcome === 1 ? "yes" : "no"}: ${ref} was ${price}, strike ${strikes.join("..")}`,
    ]),
  ],
};

const feedsView: View<readonly FeedLine[], FeedLine> = {
  kind: "list",
  rows: (feeds) => feeds,
  columns: [
    { title: "FEED", cell: ({ feed }) => feed, whole: true },
    { title: "SOURCES", cell: ({ sources }) => orDash(sources.join(", ")) },
    { title: "QUORUM", cell: ({ quorum }) => String(quorum), align: "right" },
    { title: "MAX AGE", cell: ({ maxAgeSec }) => `${maxAgeSec}s`, align: "right" },
    { title: "NOT CONFIGURED", cell: ({ lacking }) => orDash(lacking.join(", ")), optional: true },
  ],
  empty: "No feeds.",
};

const checkView: View<readonly FeedCheck[], FeedCheck> = {
  kind: "list",
  rows: (checks) => checks,
  columns: [
    { title: "FEED", cell: ({ feed }) => feed, whole: true },
    { title: "PRICE", cell: ({ price }) => orDash(price), align: "right", whole: true },
    { title: "AGE", cell: ({ ageSec }) => (ageSec === null ? "-" : `${ageSec.toFixed(1)}s`), align: "right" },
    { title: "SPREAD", cell: ({ spread }) => orDash(spread), align: "right" },
    { title: "SESSION", cell: ({ session }) => session },
    { title: "VERDICT", cell: ({ verdict }) => verdict },
    { title: "DETAIL", cell: ({ detail }) => orDash(detail), optional: true },
  ],
  empty: "No feed of this name.",
};

const sweepView: View<SweepLine, SweepLine> = {
  kind: "record",
  fields: ({ watched, asked, settled, held }) => [
    ["looked at", String(watched)],
    ["requests", String(asked)],
    ["settled", orDash(settled.join(", "))],
    ["held", orDash(held.map(({ marketId, reason }) => `${marketId}: ${reason}`).join(", "))],
  ],
};

type SweepLine = Pick<SweepReport, "watched" | "asked" | "settled" | "held">;

export async function runOracleStatus(_: object, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.getOracleStatus({}), statusView);
  const held = await api.listHeldMarkets({});
  const [longest] = held;
  if (longest)
    output.note(
      `${counted(held.length, "market")} held, ${longest.marketId} longest: ${longest.reason}, ${longest.detail}. pmctl market show ID says why one is, and pmctl market settle ID decides it by hand.`,
    );
  return EXIT.ok;
}

export async function runOracleFeeds(feeds: readonly FeedLine[], { output }: Io): Promise<ExitCode> {
  await output.print(feeds, feedsView);
  return EXIT.ok;
}

/**
 * @param named whether feeds were asked for by name: then one that would hold its markets is a failure, so that a pipeline
 * notices; of all feeds many are simply not used
 */
export async function runOracleCheck(
  { named, run }: { named: boolean; run: () => Promise<FeedCheck[]> },
  { output }: Io,
): Promise<ExitCode> {
  const checks = await run();
  await output.print(checks, checkView);
  const doubtful = checks.filter(({ verdict }) => verdict !== "ok").map(({ feed }) => feed);
  if (named && (doubtful.length > 0 || checks.length === 0))
    throw new Fault("EXPECTATION_NOT_MET", `No market could be settled now by ${doubtful.join(", ") || "these feeds"}`);
  return EXIT.ok;
}

export async function runOracleSweep(run: () => Promise<SweepReport>, { output }: Io): Promise<ExitCode> {
  const { watched, asked, settled, held, failures } = await run();
  await output.print({ watched, asked, settled, held }, sweepView);
  if (failures.length > 0) throw failures[0];
  return EXIT.ok;
}

async function feedLines({ config }: OperatorTenant): Promise<FeedLine[]> {
  const { tenantFeeds } = await import("../../app/tenant/tenant-oracle.ts");
  const { feeds, lacking } = tenantFeeds(config);
  return [...feeds.values()].map(({ key, sources, quorum, maxAgeMs }) => ({
    feed: key,
    sources: sources.filter(({ use }) => !lacking.has(use)).map(({ use, id }) => `${use} ${id}`),
    lacking: sources.flatMap(({ use }) => (lacking.has(use) ? [`${use}: ${lacking.get(use)}`] : [])),
    quorum,
    maxAgeSec: maxAgeMs / 1000,
  }));
}

/** The tenant's services with its sources, for as long as `work` runs. */
async function withOracle<Result>(
  { tenant, services }: Session,
  secrets: OracleSecrets,
  work: (context: OracleContext) => Promise<Result>,
): Promise<Result> {
  if (!services) throw new Error("the oracle works on the database");
  const { openOracle } = await import("../../app/tenant/tenant-oracle.ts");
  const context = openOracle(tenant.config, secrets, services);
  try {
    return await work(context);
  } finally {
    await context.close();
  }
}

type OracleSecrets = Pick<TenantSecrets, "sourceHeaders" | "sourceQueries" | "resolutionSecrets">;

/**
 * What sources are asked with. Read before a database is started: a secret that cannot be used is known without one.
 * @throws ConfigError with every secret at hand that cannot be used; Fault CONFIG_INVALID for one that is missing
 */
async function oracleSecrets(named: string | undefined): Promise<OracleSecrets> {
  const [{ readOperatorTenant }, { checkSecretsAtHand }, { resolutionSecretsOf }] = await Promise.all([
    import("../../app/tenant/operator-tenant.ts"),
    import("../../config/resolve-tenant.ts"),
    import("../../config/secrets/resolution-secrets.ts"),
  ]);
  const { config, directory, secret } = readOperatorTenant(named);
  checkSecretsAtHand(config, loadEnvironment(directory));
  const { sources } = config.oracle;
  const values = (of: "headers" | "query"): TenantSecrets["sourceHeaders"] =>
    Object.fromEntries(
      Object.entries(sources).map(([name, source]) => [
        name,
        Object.fromEntries(
          Object.entries(source[of] ?? {}).map(([key, value]) => [
            key,
            typeof value === "string" ? value : secret(value, ["oracle", "sources", name, of, key]),
          ]),
        ),
      ]),
    );
  const resolutionSecrets = resolutionSecretsOf(config).map(({ reference, path }) => secret(reference, path));
  return { sourceHeaders: values("headers"), sourceQueries: values("query"), resolutionSecrets };
}

function check(session: Session, secrets: OracleSecrets, names: readonly string[]): Promise<FeedCheck[]> {
  return withOracle(session, secrets, async (context) => {
    const { checkFeeds } = await import("../../oracle/check.ts");
    const wanted = names.map((name) => name.toLowerCase());
    const feeds = [...context.services.oracle.feeds.values()];
    return checkFeeds(context, wanted.length === 0 ? feeds : feeds.filter(({ key }) => wanted.includes(key)));
  });
}

function sweepOnce(session: Session, secrets: OracleSecrets): Promise<SweepReport> {
  return withOracle(session, secrets, async (context) => {
    const { sweep } = await import("../../oracle/sweep.ts");
    return sweep(context);
  });
}
