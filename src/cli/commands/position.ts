import { defineCommand } from "../define-command.ts";
import { knownUser } from "../input/names.ts";
import { identifier } from "../input/parsers.ts";
import { cents, price } from "../output/cells.ts";

export const positionList = defineCommand({
  name: "list",
  summary: "a user's open positions",
  takes: (command) => command.requiredOption("--user <id>", "the user", identifier),
  operation: "listPositions",
  input: async ({ options: { user } }, _, session) => {
    await knownUser(user, session.api());
    return {};
  },
  onBehalfOf: ({ user }: { user: string }) => user,
  view: {
    kind: "list",
    rows: (positions) => positions,
    columns: [
      { title: "MARKET", cell: ({ marketId }) => marketId, whole: true },
      { title: "QUESTION", cell: ({ question }) => question, least: 12 },
      { title: "SIDE", cell: ({ side }) => side },
      { title: "SHARES", cell: ({ shares }) => cents(shares), align: "right" },
      { title: "COST", cell: ({ avgCost }) => price(avgCost), align: "right", optional: true },
      { title: "PRICE", cell: ({ currentPrice }) => price(currentPrice), align: "right", optional: true },
      { title: "SELL VALUE", cell: ({ sellValue }) => cents(sellValue), align: "right" },
      { title: "SELL P&L", cell: ({ sellPnl }) => cents(sellPnl), align: "right" },
    ],
    empty: "No open positions.",
  },
});

export const { register } = positionList;
