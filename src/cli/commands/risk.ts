import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { cents } from "../output/cells.ts";
import { barOf } from "../output/charts.ts";
import type { View } from "../output/output.ts";

type Risk = WireResult<"listRisk">[number];

export function register(noun: Command, host: Host): void {
  noun.action(host.action(({ options, io }) => withSession(options, io, (session) => runRisk({}, session.api(), io))));
}

const view: View<readonly Risk[], Risk> = {
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
};

export async function runRisk(_: object, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.listRisk({}), view);
  return EXIT.ok;
}
