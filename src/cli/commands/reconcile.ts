import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { usdFromMicro } from "../../domain/money.ts";
import type { ExplainedCheck } from "../../store/queries/reconcile.ts";
import { counted, time, usd } from "../cells.ts";
import { type ExitCode, type Host, type Io, withSession } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";
import type { Session } from "../session.ts";

type Result = WireResult<"reconcile">;

/** One check of the ledger as `--explain` shows it. */
interface ShownCheck {
  name: string;
  ok: boolean;
  /** US dollars, as all that follow. */
  discrepancy: number;
  rows: number;
  /** What the rows under test add up to, and what they should. */
  stated: number;
  expected: number;
  /** The first places that disagree. */
  places: { place: string; stated: number; expected: number; discrepancy: number }[];
}

interface Explained extends Result {
  checks: ShownCheck[];
}

export interface ReconcileOptions {
  /** Gives the single checks; undefined unless they are asked for. */
  explain?: (() => Promise<ExplainedCheck[]>) | undefined;
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
  fields: (result) => [...resultFields(result), ...result.checks.flatMap(checkFields)],
};

function checkFields({ name, ok, discrepancy, rows, stated, expected, places }: ShownCheck): [string, string][] {
  const sums = `${usd(stated)} stated, ${usd(expected)} expected`;
  const verdict = ok ? `ok; ${sums}` : `off by ${usd(discrepancy)} in ${counted(rows, "row")}; ${sums}`;
  return [
    [`  ${name}`, verdict],
    ...places.map((at): [string, string] => [
      "",
      `${at.place}: ${usd(at.stated)} stated, ${usd(at.expected)} expected, off by ${usd(at.discrepancy)}`,
    ]),
  ];
}

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

function explained(check: ExplainedCheck): ShownCheck {
  return {
    name: check.name,
    ok: check.differenceMicro === 0n,
    discrepancy: usdFromMicro(check.differenceMicro),
    rows: check.rows,
    stated: usdFromMicro(check.statedMicro),
    expected: usdFromMicro(check.expectedMicro),
    places: check.places.map(({ place, statedMicro, expectedMicro, differenceMicro }) => ({
      place,
      stated: usdFromMicro(statedMicro),
      expected: usdFromMicro(expectedMicro),
      discrepancy: usdFromMicro(differenceMicro),
    })),
  };
}

function checksOf({ services }: Session): () => Promise<ExplainedCheck[]> {
  return async () => {
    const { explainLedger } = await import("../../store/queries/reconcile.ts");
    if (!services) throw new Fault("USAGE", "--explain reads the database itself: use it with --via db");
    return explainLedger(services.checks);
  };
}
