import { defineCommand } from "../define-command.ts";
import { cents } from "../output/cells.ts";
import { barOf } from "../output/charts.ts";

export const risk = defineCommand({
  operation: "listRisk",
  input: () => ({}),
  view: {
    kind: "list",
    rows: (risks) => risks,
    columns: [
      { title: "MARKET", cell: ({ marketId }) => marketId, whole: true },
      { title: "QUESTION", cell: ({ question }) => question, least: 16 },
      { title: "MAX LOSS", cell: ({ maxLiability }) => cents(maxLiability), align: "right" },
      { title: "IF YES", cell: ({ yesPayout }) => cents(yesPayout), align: "right", optional: true },
      { title: "IF NO", cell: ({ noPayout }) => cents(noPayout), align: "right", optional: true },
      { title: "BY LOSS", cell: barOf(({ maxLiability }) => maxLiability), picture: true },
    ],
    empty: "No market is open.",
  },
});

export const { register } = risk;
