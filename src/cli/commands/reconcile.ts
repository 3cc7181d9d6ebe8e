import type { Command } from "commander";
import type { Api, WireOutput, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { limitFromUsd, usdFromMicro } from "../../domain/money.ts";
import { counted } from "../../domain/text.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Result = WireResult<"reconcile">;
type Check = WireOutput<"explainLedger">[number];

interface Explained extends Omit<Result, "checkedAt" | "verifiedAt"> {
  /** Null when the check could not be put on record. */
  checkedAt: Result["checkedAt"] | null;
  verifiedAt: Result["verifiedAt"] | null;
  checks: Check[];
}

interface ReconcileOptions {
  explain?: boolean | undefined;
  full?: boolean | undefined;
}

export function register(noun: Command, host: Host): void {
  host.add<ReconcileOptions>(
    noun
      .option("--explain", "compare every row, and show every check with its result")
      .option("--full", "compare every row now, also those that the server compared within the last minutes"),
    { operation: "reconcile", each: true },
    ({ options, io }) => withSession(options, io, (session) => runReconcile(options, session.api(), io)),
  );
}

const at = (instant: string | null) => (instant === null ? "not on record" : time(instant, { seconds: true }));
const resultFields = ({ ok, discrepancy, checkedAt, verifiedAt }: Omit<Explained, "checks">): [string, string][] => [
  ["ok", ok ? "yes" : "NO"],
  ["discrepancy", usd(discrepancy)],
  ["checked", at(checkedAt)],
  ["every row", at(verifiedAt)],
];
const resultView: View<Result, Result> = { kind: "record", fields: resultFields };
const explainedView: View<Explained, Explained> = {
  kind: "record",
  fields: (result) => [...resultFields(result), ...result.checks.flatMap(checkFields)],
};

function checkFields({ name, unit, ok, discrepancy, rows, stated, expected, places }: Check): [string, string][] {
  const figure = unit === "usd" ? usd : String;
  const sums = `${figure(stated)} stated, ${figure(expected)} expected`;
  const verdict = ok ? `ok; ${sums}` : `off by ${figure(discrepancy)} in ${counted(rows, "row")}; ${sums}`;
  const sources = name === "record" ? ["the entry", "the recomputation"] : ["the table", "the audit log says"];
  return [
    [`  ${name}`, verdict],
    ...places.map((at): [string, string] => [
      "",
      at.held === undefined
        ? `${at.place}: ${figure(at.stated)} stated, ${figure(at.expected)} expected, off by ${figure(at.discrepancy)}`
        : `${at.place}: ${sources[0]} says ${at.held ?? "nothing"}, ${sources[1]} ${at.said ?? "nothing"}`,
    ]),
  ];
}

/** @throws Fault INTEGRITY, after printing, when the ledger does not add up; also when the log takes no entry */
export async function runReconcile({ explain, full }: ReconcileOptions, api: Api, { output }: Io): Promise<void> {
  const asked = explain || full ? api.reconcile({ full: "true" }) : api.reconcile({});
  const result = await output.during("Checking the ledger", asked).catch(async (error: unknown) => {
    // A log that was set back takes no new entry, but the ledger can still be checked and printed.
    if (explain && error instanceof Fault && error.code === "INTEGRITY") await printUnrecorded(api, output);
    throw error;
  });
  const checks = explain || !result.ok ? await output.during("Explaining", api.explainLedger({})) : [];
  if (explain) await output.print({ ...result, checks }, explainedView);
  else await output.print(result, resultView);
  if (!result.ok) throw new Fault("INTEGRITY", `${verdictOf(checks)}; --explain shows where`);
}

async function printUnrecorded(api: Api, output: Io["output"]): Promise<void> {
  const checks = await output.during("Explaining", api.explainLedger({}));
  const discrepancy = usdFromMicro(checks.reduce((sum, each) => sum + limitFromUsd(each.discrepancy), 0n));
  await output.print(
    { ok: checks.every(({ ok }) => ok), discrepancy, checkedAt: null, verifiedAt: null, checks },
    explainedView,
  );
}

/** Sums what is off, in the unit of each check: only sums of money are in dollars. */
function verdictOf(checks: Explained["checks"]): string {
  const off = checks.filter(({ ok }) => !ok);
  const money = off.filter(({ unit }) => unit === "usd");
  const counts = off.filter(({ unit }) => unit === "count");
  const names = (some: typeof off) => some.map(({ name }) => name).join(", ");
  const total = (figures: number[]) => figures.reduce((sum, figure) => sum + figure, 0);
  const dollars = usd(total(money.map(({ discrepancy }) => discrepancy)));
  const parts = [
    ...(money.length > 0 ? [`the ledger is off by ${dollars} USD (${names(money)})`] : []),
    ...(counts.length > 0 ? [`${counted(total(counts.map(({ rows }) => rows)), "place")} off (${names(counts)})`] : []),
  ];
  // The explanation is read after the check, and the ledger may have been repaired in between.
  const sentence = parts.length > 0 ? parts.join(", and ") : "the ledger did not add up";
  return sentence.replace(/^./, (first) => first.toUpperCase());
}
