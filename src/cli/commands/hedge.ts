import { defineCommand } from "../define-command.ts";
import { usd } from "../output/cells.ts";

const minor = (cents: number) => usd(cents / 100);

export const hedge = defineCommand({
  operation: "getHedgeExposure",
  input: () => ({}),
  prints: { operation: "getHedgeExposure", rows: "hedgeBook" },
  view: {
    kind: "list",
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
  },
});

export const { register } = hedge;
