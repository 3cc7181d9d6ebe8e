import type { Api, WireResult } from "../../../contract/operations.ts";
import { outcomeFlag } from "../../../domain/market/outcome.ts";
import { sumOf } from "../../../domain/money.ts";
import { count, outcomeWords } from "../../format.ts";
import { Facts } from "../../parts/facts.tsx";
import { Table } from "../../parts/table.tsx";
import { Usd } from "../../parts/usd.tsx";
import type { Proposal } from "../proposals/proposed.tsx";
import { Largest } from "./ends.tsx";

type Preview = WireResult<"previewSettlement">;

/** What an outcome would pay, and what the house would have of it once fees that a void gives back are given. */
export interface End extends Pick<Preview, "outcome" | "payouts" | "totalUsd"> {
  houseUsd: number;
  /** Unknown for a void, whose dialog says it. */
  largest?: Preview["largest"];
}

/** The outcome by which a proposal would end the market, as queries state it; undefined for a correction. */
export function proposedEnd({ kind, outcome }: Proposal): string | undefined {
  return outcome === null || kind === "correct" ? undefined : outcomeFlag(outcome);
}

/**
 * The ends by Yes, by No, by a fraction that is proposed, and by a void. What a void takes of the fees is in all trades of
 * the holders, so a page that is read again with each trade does not ask for it.
 */
export async function readEnds(api: Api, id: string, proposals: readonly Proposal[]): Promise<End[]> {
  const asked = new Set(["yes", "no", ...proposals.flatMap((each) => proposedEnd(each) ?? [])]);
  asked.delete("void");
  const previews = await Promise.all([...asked].map((outcome) => api.previewSettlement({ id, outcome })));
  const ends = previews.map((each): End => ({ ...each, houseUsd: each.houseResultUsd }));
  const [yes, no] = ends;
  const [{ costUsd = 0 } = {}] = previews;
  if (!yes || !no) return ends;
  const payouts = yes.payouts + no.payouts;
  return [
    ...ends,
    { outcome: "void", payouts, totalUsd: costUsd, houseUsd: sumOf(yes.houseUsd, yes.totalUsd, -costUsd) },
  ];
}

const HOUSE = "House result, less fees given back";

/** What each outcome would cost the house, as a settlement now would pay it. */
export function Liability({ of: ends }: { of: readonly End[] }) {
  return (
    <>
      <h2>Liability by outcome</h2>
      <Table
        name="Liability by outcome"
        rows={ends}
        id={({ outcome }) => outcomeWords(outcome)}
        empty="The market has its outcome."
        columns={[
          { title: "Outcome", cell: ({ outcome }) => outcomeWords(outcome) },
          { title: "Positions paid", isNumber: true, cell: ({ payouts }) => count(payouts) },
          { title: "Total", isNumber: true, cell: ({ totalUsd }) => <Usd of={totalUsd} /> },
          { title: HOUSE, isNumber: true, cell: ({ houseUsd }) => <Usd of={houseUsd} /> },
          {
            title: "Largest payment",
            cell: ({ largest }) => (largest === undefined ? "See Void" : largest && <Largest of={largest} />),
          },
        ]}
      />
    </>
  );
}

/** What a proposal would pay as things stand. */
export function Paid({ of: { payouts, totalUsd, houseUsd, largest } }: { of: End }) {
  return (
    <Facts
      of={[
        ["Payouts", count(payouts)],
        ["Total", <Usd key="total" of={totalUsd} />],
        [HOUSE, <Usd key="house" of={houseUsd} />],
        ["Largest payment", largest && <Largest of={largest} />],
      ]}
    />
  );
}
