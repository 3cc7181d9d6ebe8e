import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { usdFromMicro } from "../../domain/money.ts";
import type { Check } from "../../store/queries/reconcile.ts";
import { time, usd } from "../cells.ts";
import { type ExitCode, type Host, type Io, withSession } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";
import type { Session } from "../session.ts";

type Result = WireResult<"reconcile">;

/** One check of the ledger as `--explain` shows it. */
interface ExplainedCheck {
  name: string;
  ok: boolean;
  /** US dollars. */
  discrepancy: number;
  rows: number;
}

interface Explained extends Result {
  checks: ExplainedCheck[];
}

export interface ReconcileOptions {
  /** Gives the single checks; undefined unless they are asked for. */
  explain?: (() => Promise<Check[]>) | undefined;
}

export function register(noun: Command, host: Host): void {
  noun.option("--explain", "every check with its result; straight from the database").action(
    host.action<{ explain?: boolean }>(({ options, io }) => {
      if (!options.explain) return withSession(options, io, (session) => runReconcile({}, session.api(), io));
      if (options.via === "http" || options.url !== undefined)
        throw new Fault("USAGE", "--explain reads the database itself: use it with --via db");
      return withSession({ ...options, via: "db" }, io, (session) =>
        runReconcile({ explain: checksOf(session) }, session.api(), io),
      );
    }),
  );
}

const resultFields = ({ ok, discrepancy, checkedAt }: Result): [string, string][] => [
  ["ok", ok ? "yes" : "NO"],
  ["discrepancy", usd(discrepancy)],
  ["checked", time(checkedAt, { seconds: true })],
];
const resultView: View<Result, Result> = { kind: "record", fields: resultFields };
const explainedView: View<Explained, Explained> = {
  kind: "record",
  fields: (result) => [
    ...resultFields(result),
    ...result.checks.map(({ name, ok, discrepancy, rows }): [string, string] => [
      `  ${name}`,
      ok ? "ok" : `off by ${usd(discrepancy)} in ${rows} row${rows === 1 ? "" : "s"}`,
    ]),
  ],
};

/** @throws Fault INTEGRITY after printing, when the ledger does not add up */
export async function runReconcile({ explain }: ReconcileOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const result = await output.during("Checking the ledger", api.reconcile({}));
  if (explain)
    await output.print(
      { ...result, checks: (await output.during("Explaining", explain())).map(explained) },
      explainedView,
    );
  else await output.print(result, resultView);
  if (!result.ok)
    throw new Fault("INTEGRITY", `The ledger is off by ${usd(result.discrepancy)} USD; --explain shows where`);
  return EXIT.ok;
}

function explained({ name, differenceMicro, rows }: Check): ExplainedCheck {
  return { name, ok: differenceMicro === 0n, discrepancy: usdFromMicro(differenceMicro), rows };
}

function checksOf({ services }: Session): () => Promise<Check[]> {
  return async () => {
    const { reconcileLedger } = await import("../../store/queries/reconcile.ts");
    if (!services) throw new Fault("USAGE", "--explain reads the database itself: use it with --via db");
    return reconcileLedger(services.read);
  };
}
