import type { Api, WireResult } from "../../../contract/operations.ts";
import { outcomeFlag } from "../../../domain/market/outcome.ts";
import { sumOf } from "../../../domain/money.ts";
import { isProposal } from "../../../domain/policy/proposal.ts";
import { counted } from "../../../domain/text.ts";
import { count, ended, outcomeWords, percent, usd } from "../../format.ts";
import type { ActionOf } from "../../parts/action.tsx";
import { Facts } from "../../parts/facts.tsx";
import type { Field, Values } from "../../parts/fields.tsx";
import { TraderLink } from "../../parts/links.tsx";
import { Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { option, pmctl } from "../../terminal-line.ts";
import { Held } from "../oracle/held.tsx";
import { Proposes } from "../proposals/proposes.tsx";
import type { Market } from "./words.tsx";

type Preview = WireResult<"previewSettlement">;
type Correction = WireResult<"previewCorrection">;

const SPLIT = "fraction";
const EVIDENCE: Field = {
  ...{ name: "evidence", label: "Evidence", kind: "text", isOptional: true, isWords: true },
  hint: "What the decision rests on, such as a link and a quotation.",
};

/** The choice of an outcome, and what a Yes share is paid between the sides. */
function outcomeFields(label: string, ...more: (readonly [string, string])[]): Field[] {
  return [
    {
      name: "outcome",
      label,
      kind: "choice",
      options: [["yes", "Yes"], ["no", "No"], ...more, [SPLIT, "A fraction"]],
    },
    {
      name: "fraction",
      label: "What a Yes share is paid, in USD",
      kind: "number",
      hint: "Between 0 and 1, such as 0.4. A No share is paid the rest.",
      when: ({ outcome }) => outcome === SPLIT,
    },
    EVIDENCE,
  ];
}

/** The outcome as queries and flags state it, such as `yes=0.4`. */
function outcomeText({ outcome = "", fraction = "" }: Values): string {
  if (outcome !== SPLIT) return outcome;
  return fraction.trim() === "" ? "" : `yes=${Number(fraction)}`;
}

/** The outcome as requests state it. */
function outcomeSent({ outcome, fraction }: Values): "yes" | "no" | "void" | { yes: number } {
  return outcome === SPLIT ? { yes: Number(fraction) } : (outcome as "yes" | "no" | "void");
}

export function settlement(tenant: string, { id, question, status }: Market): ActionOf<Preview> {
  return {
    label: "Settle",
    thing: question,
    about: { marketId: id },
    scope: "settle",
    before: <Held id={id} />,
    fields: outcomeFields("Outcome"),
    preview: (api, values) => api.previewSettlement({ id, outcome: outcomeText(values) }),
    explain: (shown) => (shown ? <End of={shown} /> : <p>Choose the outcome to see what it pays.</p>),
    run: (api, shown, values) =>
      api.settleMarket({
        ...{ marketId: id, outcome: outcomeSent(values) as Exclude<Sent, "void"> },
        ...{ ...expected(shown), ...evidenceOf(values) },
      }),
    line: (values, reason, shown) =>
      pmctl(
        ...[tenant, "market", "settle", id, ...option("outcome", outcomeText(values))],
        ...[...(shown && isDoubtful(shown) ? ["--early"] : []), ...expectedLine(shown)],
        ...said(values, reason),
      ),
    done: (result) =>
      told(result, question, ({ outcome, payoutsProcessed }: WireResult<"settleMarket">) => {
        return `Settled as ${outcomeWords(outcome)}: ${ended(question)} ${counted(payoutsProcessed, "position")} paid.`;
      }),
    unfit: status === "settled" ? "The market is settled." : undefined,
  };
}
type Sent = ReturnType<typeof outcomeSent>;

const isAgainstPrice = ({ price }: Preview): boolean => price !== null && price < 0.5;
/** The terminal asks for a word more, where the dialog warns. */
const isDoubtful = (shown: Preview): boolean => shown.status !== "closed" || isAgainstPrice(shown);

export function voiding(tenant: string, { id, question, status }: Market): ActionOf<Preview> {
  const most = (shown: Preview | undefined): number => shown?.fromTreasuryUsd ?? 0;
  return {
    label: "Void",
    thing: question,
    about: { marketId: id },
    scope: "settle",
    before: <Held id={id} />,
    fields: [EVIDENCE],
    preview: (api: Api) => api.previewSettlement({ id, outcome: "void" }),
    explain: (shown) => (
      <>
        <p>Open positions get back what they cost, fees included. Traders read the reason.</p>
        {shown && <End of={shown} />}
      </>
    ),
    run: (api, shown, values, reason) =>
      api.voidMarket({ id, reason, ...expected(shown), ...evidenceOf(values), maxTreasuryUsd: most(shown) }),
    line: (values, reason, shown) =>
      pmctl(
        ...[tenant, "market", "void", id, ...expectedLine(shown)],
        ...[...option("max-treasury", shown && most(shown)), ...said(values, reason)],
      ),
    done: (result) =>
      told(result, question, ({ payoutsProcessed, refundedUsd }: WireResult<"voidMarket">) => {
        return `Voided: ${ended(question)} ${counted(payoutsProcessed, "position")} got back ${usd(refundedUsd)}.`;
      }),
    unfit: status === "settled" ? "The market is settled." : undefined,
  };
}

export function correction(tenant: string, { id, question, status }: Market): ActionOf<Correction> {
  return {
    label: "Correct",
    thing: question,
    about: { marketId: id },
    scope: "settle",
    fields: outcomeFields("The right outcome", ["void", "Void"]),
    preview: (api, values) => api.previewCorrection({ id, outcome: outcomeText(values) }),
    explain: (shown) =>
      shown ? (
        <>
          <Proposes terms={shown.terms} meanwhile="nothing is paid until then" />
          <Change of={shown} />
        </>
      ) : (
        <p>Choose the right outcome to see what it changes.</p>
      ),
    run: (api, shown, values, reason) =>
      api.correctMarket({
        ...{ id, outcome: outcomeSent(values), reason, ...evidenceOf(values) },
        ...(shown && { expectOutcome: shown.from, expectReceivablesUsd: shown.receivablesUsd }),
        maxTreasuryUsd: shown?.fromTreasuryUsd,
      }),
    line: (values, reason, shown) =>
      pmctl(
        ...[tenant, "market", "correct", id, ...option("outcome", outcomeText(values))],
        ...option("expect-outcome", shown && outcomeFlag(shown.from)),
        ...option("expect-receivables", shown?.receivablesUsd),
        ...[...option("max-treasury", shown?.fromTreasuryUsd), ...said(values, reason)],
      ),
    done: (result) =>
      told(result, question, ({ from, outcome, users }: WireResult<"correctMarket">) => {
        return `Corrected from ${outcomeWords(from)} to ${outcomeWords(outcome)}: ${ended(question)} ${counted(users, "user")} concerned.`;
      }),
    unfit: status === "settled" ? undefined : "The market is not settled.",
  };
}

const evidenceOf = ({ evidence = "" }: Values) => (evidence.trim() === "" ? {} : { evidence: evidence.trim() });

const said = (values: Values, reason: string): string[] => [
  ...option("evidence", evidenceOf(values).evidence),
  ...option("reason", reason),
];

/** What was shown is part of what is sent. */
function expected(shown: Preview | undefined) {
  return shown ? { expectPayouts: shown.payouts, expectTotalUsd: shown.totalUsd } : {};
}

function expectedLine(shown: Preview | undefined): string[] {
  return shown ? [...option("expect-payouts", shown.payouts), ...option("expect-total", shown.totalUsd)] : [];
}

/** A change may become a proposal that waits for other people or for its time. */
function told<Result extends object>(result: unknown, question: string, done: (result: Result) => string): string {
  return isProposal(result as object)
    ? `Proposed: ${ended(question)} It waits for its approvals and its time.`
    : done(result as Result);
}

function End({ of: shown }: { of: Preview }) {
  return (
    <>
      <Proposes terms={shown.terms} meanwhile="nothing is paid until then, and the market is suspended" />
      <Payment of={shown} />
    </>
  );
}

/** What an end pays. */
export function Payment({ of: shown }: { of: Preview }) {
  const { status, outcome, price, payouts, escrowUsd, totalUsd, houseResultUsd, fromFeesUsd } = shown;
  const { fromTreasuryUsd, toTreasuryUsd, largest } = shown;
  return (
    <>
      {status === "open" && <p class="warn">The market is still open: it has not reached its closing time.</p>}
      {isAgainstPrice(shown) && price !== null && (
        <p class="warn">
          This is against the price: {outcomeWords(outcome)} is at {percent(price)}.
        </p>
      )}
      <Facts
        of={[
          ["Payouts", count(payouts)],
          ["Total", <Usd key="total" of={totalUsd} />],
          ["House result", <Usd key="house" of={houseResultUsd} />],
          [
            "House result with the fees given back",
            fromFeesUsd !== 0 && <Usd of={sumOf(houseResultUsd, -fromFeesUsd)} />,
          ],
          ["From the escrow", <Usd key="escrow" of={escrowUsd} />],
          ["From the fees", fromFeesUsd !== 0 && <Usd of={fromFeesUsd} />],
          ["From the treasury", fromTreasuryUsd !== 0 && <Usd of={fromTreasuryUsd} />],
          ["To the treasury", <Usd key="to" of={toTreasuryUsd} />],
          ["Largest payment", largest && <Largest of={largest} />],
        ]}
      />
    </>
  );
}

/** Who would be paid most, and how much. */
export function Largest({ of: { amountUsd, userId } }: { of: NonNullable<Preview["largest"]> }) {
  return (
    <>
      <Usd of={amountUsd} /> to <TraderLink id={userId} />
    </>
  );
}

/** What a correction moves. */
export function Change({ of: shown }: { of: Correction }) {
  const { from, to, users, takenBackUsd, receivablesUsd, paidUsd, feesUsd, until } = shown;
  const { fromTreasuryUsd, toTreasuryUsd } = shown;
  return (
    <Facts
      of={[
        ["From", outcomeWords(from)],
        ["To", outcomeWords(to)],
        ["Users concerned", count(users)],
        ["Taken back", <Usd key="back" of={takenBackUsd} />],
        ["Owed afterwards", <Usd key="owed" of={receivablesUsd} />],
        ["Paid", <Usd key="paid" of={paidUsd} />],
        [feesUsd < 0 ? "From the fees" : "Back to the fees", feesUsd !== 0 && <Usd of={Math.abs(feesUsd)} />],
        ["From the treasury", <Usd key="from" of={fromTreasuryUsd} />],
        ["To the treasury", <Usd key="to" of={toTreasuryUsd} />],
        [
          "House result changes by, fees included",
          <Usd key="house" of={sumOf(toTreasuryUsd, -fromTreasuryUsd, feesUsd)} />,
        ],
        ["Possible until", <Time key="until" at={until} />],
      ]}
    />
  );
}
