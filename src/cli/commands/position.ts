import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { identifier } from "../input/parsers.ts";
import { cents, price } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Position = WireResult<"listPositions">[number];

export function register(noun: Command, host: Host): void {
  noun
    .command("list")
    .description("a user's open positions")
    .requiredOption("--user <id>", "whose", identifier)
    .action(
      host.action<{ user: string }>(({ options, io }) =>
        withSession(options, io, (session) => runPositionList({}, session.api(options.user), io)),
      ),
    );
}

const listView: View<readonly Position[], Position> = {
  kind: "list",
  rows: (positions) => positions,
  columns: [
    { title: "MARKET", cell: ({ marketId }) => marketId, whole: true },
    { title: "QUESTION", cell: ({ question }) => question, least: 12 },
    { title: "SIDE", cell: ({ side }) => side },
    { title: "SHARES", cell: ({ shares }) => cents(shares), align: "right" },
    { title: "COST", cell: ({ avgCost }) => price(avgCost), align: "right", optional: true },
    { title: "PRICE", cell: ({ currentPrice }) => price(currentPrice), align: "right" },
    { title: "P&L", cell: ({ unrealizedPnl }) => cents(unrealizedPnl), align: "right" },
  ],
  empty: "No open positions.",
};

/** @param api acts on behalf of the user */
export async function runPositionList(_: object, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.listPositions({}), listView);
  return EXIT.ok;
}
