import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Exposure = WireResult<"getHedgeExposure">;
type Row = Exposure["hedgeBook"][number];

export function register(noun: Command, host: Host): void {
  noun.action(host.action(({ options, io }) => withSession(options, io, (session) => runHedge({}, session.api(), io))));
}

const minor = (cents: number) => usd(cents / 100);

const bookView: View<Exposure, Row> = {
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
};

export async function runHedge(_: object, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.getHedgeExposure({}), bookView);
  return EXIT.ok;
}
