import type { Command } from "commander";
import type { WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import type { CommandContext, Io } from "../command.ts";
import { defineCommand, verbs } from "../define-command.ts";
import { knownUser } from "../input/names.ts";
import { count, identifier } from "../input/parsers.ts";
import { cents, usd } from "../output/cells.ts";
import { type BarLine, barChart, barOf } from "../output/charts.ts";

type Overview = WireResult<"getOverviewReport">;

/** The longest period that the API reports on. */
const LONGEST_PERIOD_DAYS = 3650;

interface ReportOptions {
  days?: number | undefined;
}

const period = (command: Command) =>
  command.option("--days <n>", "how many UTC days, including today (default: 30)", count);

const inputOf = ({ options: { days } }: CommandContext<ReportOptions>) => ({ periodDays: days });

/** Other formats print rows only: the totals are then noted on stderr. */
const holdsRowsOnly = ({ format }: Io["output"]) => format !== "json" && format !== "yaml";

/** Daily sums add up, so the previous period is the doubled period minus this one. */
function comparison(report: Overview, twice: Overview): BarLine[][] {
  const period = counted(report.periodDays, "day");
  const line = (label: string, value: number) => ({ label, value, shown: cents(value) });
  return (["volume", "revenue"] as const).map((name) => {
    const field = name === "volume" ? "totalVolume" : "houseRevenue";
    return [line(`${name}, ${period}`, report[field]), line(`  the ${period} before`, twice[field] - report[field])];
  });
}

function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)} %`;
}

export const reportOverview = defineCommand({
  name: "overview",
  summary: "show volume, revenue and activity",
  takes: period,
  operation: "getOverviewReport",
  input: inputOf,
  view: async (report, api, { output }) => {
    // The report of a period twice as long includes the previous period, which the picture compares with.
    const periodDays = 2 * report.periodDays;
    const isDrawn = output.showsPictures && periodDays <= LONGEST_PERIOD_DAYS;
    const twice = isDrawn ? await api.getOverviewReport({ periodDays }) : undefined;
    return {
      kind: "record",
      fields: ({ periodDays: days, totalVolume, houseRevenue, settledMarkets, activeTraders }) => [
        ["days", String(days)],
        ["volume", usd(totalVolume)],
        ["revenue", usd(houseRevenue)],
        ["markets settled", String(settledMarkets)],
        ["active traders", String(activeTraders)],
      ],
      picture: (_, width) => (twice ? barChart(comparison(report, twice), width) : ""),
    };
  },
});

export const reportHouse = defineCommand({
  name: "house",
  summary: "show fees and the market-making result, by category",
  takes: period,
  operation: "getHouseReport",
  input: inputOf,
  prints: { operation: "getHouseReport", rows: "byCategory" },
  rows: ({ byCategory }) => byCategory,
  columns: [
    { title: "CATEGORY", cell: ({ category }) => category },
    { title: "REVENUE", cell: ({ revenue }) => cents(revenue), align: "right" },
    { title: "VOLUME", cell: ({ volume }) => cents(volume), align: "right" },
    { title: "MARGIN", cell: ({ netMargin }) => percent(netMargin), align: "right" },
    { title: "BY VOLUME", cell: barOf(({ volume }) => volume), picture: true },
  ],
  empty: "Nothing was traded or settled.",
  after: ({ periodDays, totalFees, spreadIncome, refunds }, { output }) => {
    if (!holdsRowsOnly(output)) return;
    output.note(`${counted(periodDays, "day")}: fees ${usd(totalFees)}, market making ${usd(spreadIncome)}.`);
    const { markets, positions, paid, fees, treasury } = refunds;
    if (markets > 0)
      output.note(
        `${counted(markets, "voided market")} paid ${counted(positions, "position")} back ${usd(paid)}, of it fees ${usd(fees)} and from the treasury ${usd(treasury)}.`,
      );
  },
});

export const reportDaily = defineCommand({
  name: "daily",
  summary: "show volume, fees, result, active traders and exposure day by day, against the period before",
  takes: period,
  operation: "getDailyReport",
  input: inputOf,
  prints: { operation: "getDailyReport", rows: "days" },
  rows: ({ days }) => days.toReversed(),
  columns: [
    { title: "DAY", cell: ({ day }) => day.slice(0, 10), whole: true },
    { title: "VOLUME", cell: ({ volume }) => cents(volume), align: "right" },
    { title: "FEES", cell: ({ fees }) => cents(fees), align: "right", optional: true },
    { title: "RESULT", cell: ({ houseRevenue }) => cents(houseRevenue), align: "right" },
    { title: "SETTLED", cell: ({ settledMarkets }) => String(settledMarkets), align: "right", optional: true },
    { title: "TRADERS", cell: ({ activeTraders }) => String(activeTraders), align: "right" },
    { title: "EXPOSURE", cell: ({ exposure }) => cents(exposure), align: "right" },
    { title: "BY VOLUME", cell: barOf(({ volume }) => volume), picture: true },
  ],
  empty: "There is no day.",
  after: ({ periodDays, now, before }, { output }) => {
    if (!holdsRowsOnly(output)) return;
    const told = ({ volume, houseRevenue, activeTraders }: typeof now) =>
      `volume ${usd(volume)}, result ${usd(houseRevenue)}, ${counted(activeTraders, "trader")}`;
    output.note(`${counted(periodDays, "day")}: ${told(now)}. Before: ${told(before)}.`);
  },
});

export const reportTraders = defineCommand({
  name: "traders",
  summary: "show the hundred traders with the largest volume, or one user",
  takes: (command) => period(command).option("--user <id>", "only this user", identifier),
  operation: "getTradersReport",
  input: async (context: CommandContext<ReportOptions & { user?: string }>, api) => ({
    ...inputOf(context),
    userId: context.options.user && (await knownUser(context.options.user, api)),
  }),
  prints: { operation: "getTradersReport", rows: "traders" },
  rows: ({ traders }) => traders,
  columns: [
    { title: "USER", cell: ({ userId }) => userId, whole: true },
    { title: "VOLUME", cell: ({ volume }) => cents(volume), align: "right" },
    { title: "TRADES", cell: ({ trades }) => String(trades), align: "right", optional: true },
    { title: "MARKETS", cell: ({ markets }) => String(markets), align: "right", optional: true },
    { title: "WON", cell: ({ winRate }) => (winRate === null ? "-" : percent(winRate)), align: "right" },
    { title: "REALIZED", cell: ({ realizedPnl }) => cents(realizedPnl), align: "right", optional: true },
    // What selling pays now is less than what positions are worth at the price, which the total counts, as in JSON.
    { title: "SELL P&L", cell: ({ sellPnl }) => cents(sellPnl), align: "right", optional: true },
    { title: "P&L", cell: ({ totalPnl }) => cents(totalPnl), align: "right" },
    { title: "BY VOLUME", cell: barOf(({ volume }) => volume), picture: true },
  ],
  empty: "No user traded.",
  after: ({ periodDays, totals: { traders, trades, volume, totalPnl } }, { output }) => {
    if (holdsRowsOnly(output))
      output.note(
        `${counted(periodDays, "day")}: ${counted(traders, "trader")}, ${counted(trades, "trade")}, volume ${usd(volume)}, P&L at current prices ${usd(totalPnl)}.`,
      );
  },
});

export const reportFunding = defineCommand({
  name: "funding",
  summary: "show deposits and withdrawals, by provider",
  takes: period,
  operation: "getFundingReport",
  input: inputOf,
  fields: (report) => [
    ["days", String(report.periodDays)],
    ["inflows", usd(report.inflows)],
    ["outflows", usd(report.outflows)],
    ["net", usd(report.netMovement)],
    ["pending withdrawals", usd(report.pendingWithdrawals)],
    ["owed by users", usd(report.owedUsd)],
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
});

export const reportRisk = defineCommand({
  name: "risk",
  summary: "show what all unsettled markets can cost together, by category",
  operation: "getRiskReport",
  prints: { operation: "getRiskReport", rows: "byCategory" },
  rows: ({ byCategory }) => byCategory,
  columns: [
    { title: "CATEGORY", cell: ({ category }) => category },
    { title: "MARKETS", cell: ({ markets }) => String(markets), align: "right" },
    { title: "MAX LOSS", cell: ({ maxLiability }) => cents(maxLiability), align: "right" },
    { title: "BY LOSS", cell: barOf(({ maxLiability }) => maxLiability), picture: true },
  ],
  empty: "No market is unsettled.",
  after: ({ markets, maxLiability }, { output }) => {
    if (holdsRowsOnly(output))
      output.note(
        `${counted(markets, "unsettled market")} can cost ${usd(maxLiability)} at most, settled as yes or no.`,
      );
  },
});

export const register = verbs(reportOverview, reportHouse, reportDaily, reportTraders, reportFunding, reportRisk);
