import type { Command } from "commander";
import type { WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type CommandContext, type Host, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { READS_FILES } from "../errors.ts";
import { count } from "../input/parsers.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type FeedCheck = WireResult<"checkFeeds">[number];
type FeedLine = WireResult<"listFeeds">[number];
type Sweep = WireResult<"sweepOracle">;

export function register(noun: Command, host: Host): void {
  oracleStatus.register(noun, host);
  oracleSamples.register(noun, host);
  host.add(
    noun
      .command("feeds")
      .description("list every feed with its sources, from the tenant file, or with --via http from the server"),
    { operation: "listFeeds" },
    async ({ options, io }) => {
      if (options.via === "http")
        return withSession(options, io, async (session) =>
          io.output.print(await session.api().listFeeds({}), feedsView),
        );
      const [{ readOperatorTenant }, { statedFeeds }] = await Promise.all([
        import("../../app/tenant/operator-tenant.ts"),
        import("../../app/oracle/ask-once.ts"),
      ]);
      return io.output.print(statedFeeds(readOperatorTenant(options.tenant)), feedsView);
    },
  );
  host.add(
    noun
      .command("sources")
      .description("list the built-in price sources that a tenant file can name: their hosts, needs and instruments"),
    { names: "source hosts needs instruments", ends: READS_FILES },
    async ({ io }) => io.output.print(await sourceLines(), sourcesView),
  );
  host.add(
    noun
      .command("check")
      .description("ask every source once, and say whether each feed could settle a market now; stores nothing")
      .argument("[feed...]", "only these feeds, such as pm:btc"),
    { operation: "checkFeeds" },
    async ({ options, args, io }) => {
      const [{ readOperatorTenant }, { checkOnce, oracleSecrets, requireFeeds, secretsAtHand }] = await Promise.all([
        import("../../app/tenant/operator-tenant.ts"),
        import("../../app/oracle/ask-once.ts"),
      ]);
      // Before a database is started, so that a misspelt name or a missing secret is reported at once.
      const secrets = await secretsAtHand(options);
      if (secrets) requireFeeds(readOperatorTenant(options.tenant), args);
      return withSession(options, io, async (session) => {
        const checks = session.services
          ? await checkOnce(session, secrets ?? oracleSecrets(options.tenant), args)
          : await session.api().checkFeeds({ feeds: [...args] });
        await io.output.print(checks, checkView);
        if (args.length > 0) requireAllOk(checks);
      });
    },
  );
  host.add(
    noun.command("sweep").description("run the oracle once over every market whose time has come"),
    { operation: "sweepOracle" },
    async ({ options, io }) => {
      const { oracleSecrets, sweepOnce, secretsAtHand } = await import("../../app/oracle/ask-once.ts");
      // Before a database is started, so that a missing secret is reported at once.
      const secrets = await secretsAtHand(options);
      return withSession(options, io, async (session) => {
        const swept = session.services
          ? await sweepOnce(session, secrets ?? oracleSecrets(options.tenant))
          : await session.api().sweepOracle({});
        await io.output.print(swept, sweepView);
      });
    },
  );
}

const oracleStatus = defineCommand({
  name: "status",
  summary: "show feeds, waiting markets, the last sweep and what it settled",
  operation: "getOracleStatus",
  fields: ({ supportedFeeds, eligibleMarkets, lastSweepAt, recentResolutions }) => [
    ["feeds", String(supportedFeeds)],
    ["waiting markets", String(eligibleMarkets)],
    ["last sweep", lastSweepAt === null ? "never" : time(lastSweepAt, { seconds: true })],
    ...recentResolutions.map(({ ts, marketId, ref, price, strikes, outcome }): [string, string] => [
      time(ts, { seconds: true }),
      `${marketId} ${outcome === 1 ? "yes" : "no"}: ${ref} was ${price}, strike ${strikes.join("..")}`,
    ]),
  ],
  after: async (_, { output }, api) => {
    const held = await api.listHeldMarkets({});
    const [longest] = held;
    if (longest)
      output.note(
        `${counted(held.length, "market")} held, ${longest.marketId} longest: ${longest.reason}, ${longest.detail}. pmctl market show ID says why a market is held, and pmctl market settle ID settles it by hand.`,
      );
  },
});

/** The prices of all sources, newest first. */
const oracleSamples = defineCommand({
  name: "samples",
  summary: "list the newest prices that servers received for a feed, with the source of each",
  takes: (command) =>
    command
      .argument("<feed>", "the feed, such as pm:btc")
      .option("--limit <n>", "the most prices of each source (default: 100)", count),
  operation: "listFeedSamples",
  input: ({ args: [feed = ""], options: { limit } }: CommandContext<{ limit?: number }>) => ({ feed, limit }),
  rows: ({ sources }) =>
    sources
      .flatMap(({ source, symbol, samples }) => samples.map((sample) => ({ source, symbol, ...sample })))
      .toSorted((a, b) => (a.observedAt < b.observedAt ? 1 : -1)),
  columns: [
    { title: "OBSERVED", cell: ({ observedAt }) => time(observedAt, { seconds: true }) },
    { title: "SOURCE", cell: ({ source }) => source },
    { title: "SYMBOL", cell: ({ symbol }) => symbol },
    { title: "PRICE", cell: ({ price }) => price, align: "right", whole: true },
    { title: "RECEIVED", cell: ({ receivedAt }) => time(receivedAt, { seconds: true }) },
  ],
  empty: "No price is stored: servers ask the sources near the instants that decide markets.",
});

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

const sourcesView: View<readonly SourceLine[], SourceLine> = {
  kind: "list",
  rows: (sources) => sources,
  columns: [
    { title: "SOURCE", cell: ({ source }) => source, whole: true },
    { title: "HOSTS", cell: ({ hosts }) => hosts.join(", "), whole: true },
    { title: "NEEDS", cell: ({ needs }) => orDash(needs.join(", ")), wraps: true, least: 16 },
    { title: "INSTRUMENTS", cell: ({ instruments }) => String(instruments.length), align: "right" },
  ],
  empty: "No sources.",
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
    { title: "DETAIL", cell: ({ detail }) => orDash(detail), optional: true, telling: true, wraps: true, least: 16 },
  ],
  empty: "No feed of this name.",
};

const sweepView: View<Sweep, Sweep> = {
  kind: "record",
  fields: ({ watched, asked, settled, held }) => [
    ["looked at", String(watched)],
    ["requests", String(asked)],
    ["settled", orDash(settled.join(", "))],
    ["held", orDash(held.map(({ marketId, reason }) => `${marketId}: ${reason}`).join(", "))],
  ],
};

/** A built-in source of prices. */
interface SourceLine {
  source: string;
  /** Hosts that a firewall, and `network.allowHosts` of a tenant file, must let through. */
  hosts: string[];
  /** Settings that only the operator can supply: an address, an authorization, or a key among the parameters. */
  needs: readonly string[];
  /** Codes of the instruments that the source knows, such as `btc` of `pm:btc`. */
  instruments: string[];
}

async function sourceLines(): Promise<SourceLine[]> {
  const [{ PRESETS }, { hostsOf }] = await Promise.all([
    import("../../domain/feeds/presets.ts"),
    import("../../domain/feeds/source.ts"),
  ]);
  return Object.entries(PRESETS).map(([source, preset]) => ({
    source,
    hosts: hostsOf(preset),
    needs: preset.needs ?? [],
    instruments: [...preset.symbols.keys()],
  }));
}

/** Fails the command when a feed that the line names could settle no market, so that a pipeline notices. */
function requireAllOk(checks: readonly FeedCheck[]): void {
  const doubtful = checks.filter(({ verdict }) => verdict !== "ok").map(({ feed }) => feed);
  if (doubtful.length > 0 || checks.length === 0)
    throw new Fault("EXPECTATION_NOT_MET", `No market could be settled now by ${doubtful.join(", ") || "these feeds"}`);
}
