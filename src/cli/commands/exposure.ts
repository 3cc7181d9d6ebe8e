import type { CommandContext } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { statusOption, UNSETTLED } from "../market/market-list.ts";
import { cents, orDash, resultWord, usd } from "../output/cells.ts";
import { barOf } from "../output/charts.ts";

export const risk = defineCommand({
  operation: "listRisk",
  takes: (command) => command.addOption(statusOption()),
  input: ({ options: { status = UNSETTLED } }: CommandContext<{ status?: string }>) => ({ status }),
  columns: [
    { title: "QUESTION", cell: ({ question }) => question, least: 35 },
    {
      title: "STATUS",
      cell: ({ status, outcome }) => (outcome ? resultWord(outcome) : orDash(status)),
      whole: true,
    },
    { title: "MAX LOSS", cell: ({ maxLiability }) => cents(maxLiability), align: "right" },
    { title: "IF YES", cell: ({ yesPayout }) => cents(yesPayout), align: "right", optional: true },
    { title: "IF NO", cell: ({ noPayout }) => cents(noPayout), align: "right", optional: true },
    { title: "MARKET", cell: ({ marketId }) => marketId, whole: true, optional: true },
    { title: "BY LOSS", cell: barOf(({ maxLiability }) => maxLiability), picture: true },
  ],
  empty: "No market matches.",
  after: (risks, { output }) => {
    if (risks.length > 0 && output.format === "table")
      output.note("MAX LOSS: settled as yes or no, what it pays less the stakes; a void may cost more.");
  },
});

const minor = (cents: number) => usd(cents / 100);

export const hedge = defineCommand({
  operation: "getHedgeExposure",
  prints: { operation: "getHedgeExposure", rows: "hedgeBook" },
  rows: ({ hedgeBook }) => hedgeBook,
  columns: [
    { title: "SYMBOL", cell: ({ symbol }) => symbol, whole: true },
    { title: "OPEN", cell: ({ openTrades }) => String(openTrades), align: "right" },
    { title: "LONG", cell: ({ longHedges }) => String(longHedges), align: "right" },
    { title: "SHORT", cell: ({ shortHedges }) => String(shortHedges), align: "right" },
    { title: "NOTIONAL", cell: ({ totalNotionalMinor }) => minor(totalNotionalMinor), align: "right" },
    { title: "ACTIVE COST", cell: ({ activeCostMinor }) => minor(activeCostMinor), align: "right" },
  ],
  empty: "No open trade is tagged as a hedge.",
});
