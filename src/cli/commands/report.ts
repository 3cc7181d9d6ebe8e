import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { count } from "../input/parsers.ts";
import { cents, usd } from "../output/cells.ts";
import { type BarLine, barChart, barOf } from "../output/charts.ts";
import type { View } from "../output/output.ts";

type Overview = WireResult<"getOverviewReport">;
type House = WireResult<"getHouseReport">;
type Category = House["byCategory"][number];
type Traders = WireResult<"getTradersReport">;
type Trader = Traders["traders"][number];
type Funding = WireResult<"getFundingReport">;

/** The interface looks no further back. */
const LONGEST_PERIOD_DAYS = 3650;

export interface ReportOptions {
  days?: number | undefined;
}

type Run = (options: ReportOptions, api: Api, io: Io) => Promise<ExitCode>;

export function register(noun: Command, host: Host): void {
  registerReport(noun, host, "overview", "volume, revenue and activity", runReportOverview);
  registerReport(noun, host, "house", "fees and market-making result, by category", runReportHouse);
  registerReport(noun, host, "traders", "the hundred traders with the largest volume", runReportTraders);
  registerReport(noun, host, "funding", "deposits and withdrawals, by provider", runReportFunding);
}

function registerReport(noun: Command, host: Host, name: string, summary: string, run: Run): void {
  noun
    .command(name)
    .description(summary)
    .option("--days <n>", "how many UTC days, the current one included (30)", count)
    .action(
      host.action<ReportOptions>(({ options, io }) =>
        withSession(options, io, (session) => run({ days: options.days }, session.api(), io)),
      ),
    );
}

/** @param twice the report of a period twice as long, which holds the period before; undefined when nobody looks */
const overviewView = (twice: Overview | undefined): View<Overview, Overview> => ({
  kind: "record",
  fields: (report) => [
    ["days", String(report.periodDays)],
    ["volume", usd(report.totalVolume)],
    ["revenue", usd(report.houseRevenue)],
    ["markets settled", String(report.settledMarkets)],
    ["active traders", String(report.activeTraders)],
  ],
  picture: (report, width) => (twice ? barChart(comparison(report, twice), width) : ""),
});

/** Sums of days add up, so the period before is what the longer one has more. */
function comparison(report: Overview, twice: Overview): BarLine[][] {
  const period = counted(report.periodDays, "day");
  const line = (label: string, value: number) => ({ label, value, shown: cents(value) });
  return (["volume", "revenue"] as const).map((name) => {
    const field = name === "volume" ? "totalVolume" : "houseRevenue";
    return [line(`${name}, ${period}`, report[field]), line(`  the ${period} before`, twice[field] - report[field])];
  });
}

const houseView: View<House, Category> = {
  kind: "list",
  rows: ({ byCategory }) => byCategory,
  columns: [
    { title: "CATEGORY", cell: ({ category }) => category },
    { title: "REVENUE", cell: ({ revenue }) => cents(revenue), align: "right" },
    { title: "VOLUME", cell: ({ volume }) => cents(volume), align: "right" },
    { title: "MARGIN", cell: ({ netMargin }) => percent(netMargin), align: "right" },
    { title: "BY VOLUME", cell: barOf(({ volume }) => volume), picture: true },
  ],
  empty: "Nothing was traded or settled.",
};

const tradersView: View<Traders, Trader> = {
  kind: "list",
  rows: ({ traders }) => traders,
  columns: [
    { title: "USER", cell: ({ userId }) => userId, whole: true },
    { title: "VOLUME", cell: ({ volume }) => cents(volume), align: "right" },
    { title: "TRADES", cell: ({ trades }) => String(trades), align: "right", optional: true },
    { title: "MARKETS", cell: ({ markets }) => String(markets), align: "right", optional: true },
    { title: "WON", cell: ({ winRate }) => (winRate === null ? "-" : percent(winRate)), align: "right" },
    { title: "REALIZED", cell: ({ realizedPnl }) => cents(realizedPnl), align: "right", optional: true },
    { title: "OPEN", cell: ({ unrealizedPnl }) => cents(unrealizedPnl), align: "right", optional: true },
    { title: "P&L", cell: ({ totalPnl }) => cents(totalPnl), align: "right" },
    { title: "BY VOLUME", cell: barOf(({ volume }) => volume), picture: true },
  ],
  empty: "Nobody traded.",
};

const fundingView: View<Funding, Funding> = {
  kind: "record",
  fields: (report) => [
    ["days", String(report.periodDays)],
    ["inflows", usd(report.inflows)],
    ["outflows", usd(report.outflows)],
    ["net", usd(report.netMovement)],
    ["pending withdrawals", usd(report.pendingWithdrawals)],
    ...report.byProvider.map(
      ({ provider, inflows, outflows }) => [`via ${provider}`, `in ${usd(inflows)}, out ${usd(outflows)}`] as const,
    ),
  ],
  picture: ({ inflows, outflows }, width) =>
    barChart(
      [
        [
          { label: "in", value: inflows, shown: cents(inflows) },
          { label: "out", value: outflows, shown: cents(outflows) },
        ],
      ],
      width,
    ),
};

function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)} %`;
}

export async function runReportOverview({ days }: ReportOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const report = await api.getOverviewReport({ periodDays: days });
  const periodDays = 2 * report.periodDays;
  const isDrawn = output.showsPictures && periodDays <= LONGEST_PERIOD_DAYS;
  await output.print(report, overviewView(isDrawn ? await api.getOverviewReport({ periodDays }) : undefined));
  return EXIT.ok;
}

export async function runReportHouse({ days }: ReportOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const report = await api.getHouseReport({ periodDays: days });
  await output.print(report, houseView);
  // A table shows the rows only; the other formats hold the totals anyway.
  if (output.format === "table")
    output.note(`${report.periodDays} days: fees ${usd(report.totalFees)}, market making ${usd(report.spreadIncome)}.`);
  return EXIT.ok;
}

export async function runReportTraders({ days }: ReportOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const report = await api.getTradersReport({ periodDays: days });
  await output.print(report, tradersView);
  const { traders, trades, volume, totalPnl } = report.totals;
  if (output.format === "table")
    output.note(
      `${report.periodDays} days: ${traders} traders, ${trades} trades, volume ${usd(volume)}, P&L ${usd(totalPnl)}.`,
    );
  return EXIT.ok;
}

export async function runReportFunding({ days }: ReportOptions, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.getFundingReport({ periodDays: days }), fundingView);
  return EXIT.ok;
}
