import type { ComponentChildren } from "preact";
import { approversOf } from "../../../client/inbox/approvers.ts";
import { objectionsTo } from "../../../client/inbox/objections.ts";
import { proposedWork, type Subjects, subjectsOf } from "../../../client/inbox/proposed.ts";
import { payoutCautions } from "../../../client/payout-cautions.ts";
import type { Api, WireInput, WireResult } from "../../../contract/operations.ts";
import { outcomeFlag } from "../../../domain/market/outcome.ts";
import { useLive } from "../../live/use-live.ts";
import { Facts } from "../../parts/facts.tsx";
import { MarketLink, TraderLink } from "../../parts/links.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Refused } from "../../refused.ts";
import { PlannedChanges, readProposed } from "../configuration/planned.tsx";
import { Change, Payment } from "../market/ends.tsx";
import { Cautions, Money } from "../traders/actions.tsx";

export type Proposal = WireResult<"getProposal">;

/** What a person must know who decides about a proposal. */
export interface Told {
  proposal: Proposal;
  subjects?: Subjects;
  objections?: readonly string[];
  /** Draws what it would pay or change as things stand. */
  effect?: () => ComponentChildren;
  /** What of it a decision is bound to. */
  seen?: Seen;
}

/** What users come to owe by a correction, and whether the user whom a withdrawal pays is restricted. */
export type Seen = Pick<WireInput<"approveProposal">, "expectReceivablesUsd" | "expectRestricted">;

/** Reads all that a proposal rests on. */
export async function tellProposal(proposal: Proposal, api: Api): Promise<Told> {
  const [subjects, objections] = await Promise.all([subjectsOf([proposal], api), objectionsTo(proposal, api)]);
  try {
    return { proposal, subjects, objections, ...(await effectOf(proposal, subjects, api)) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { message } = error;
    return {
      proposal,
      subjects,
      objections,
      effect: () => (
        <p class="problem">
          As things stand: <Sentence of={message} />.
        </p>
      ),
    };
  }
}

async function effectOf(
  { kind, marketId, outcome, request }: Proposal,
  { questions, withdrawals }: Subjects,
  api: Api,
): Promise<Pick<Told, "effect" | "seen">> {
  const { id, amount, operation: _, maxTreasuryUsd: most, ...rest } = request;
  if (marketId !== null && outcome !== null) {
    const ref = { id: marketId, outcome: outcomeFlag(outcome) };
    const changed = kind === "correct" ? await api.previewCorrection(ref) : undefined;
    const moved = changed ? <Change of={changed} /> : <Payment of={await api.previewSettlement(ref)} />;
    const effect = () => (
      <>
        <Facts
          of={[
            ["Question", <MarketLink key="question" id={marketId} question={questions.get(marketId)} />],
            ["Outcome", ref.outcome],
            ["The treasury adds at most", typeof most === "number" && <Usd of={most} />],
          ]}
        />
        {moved}
      </>
    );
    return { effect, ...(changed && { seen: { expectReceivablesUsd: changed.receivablesUsd } }) };
  }
  if (kind === "loosen") {
    const planned = await readProposed(api, { kind, request });
    return { effect: () => planned && <PlannedChanges of={planned} empty="Nothing differs from what is live." /> };
  }
  if (kind === "key") {
    const stated = Object.entries(rest).map(
      ([name, value]) =>
        [
          name,
          <bdi key={name}>
            <Sentence of={JSON.stringify(value)} />
          </bdi>,
        ] as const,
    );
    return { effect: () => <Facts of={stated} /> };
  }
  const paid = kind === "credit" ? { userId: String(id), amount: Number(amount) } : withdrawals.get(String(id));
  if (!paid) return {};
  const user = await api.getUser({ id: paid.userId });
  const cautions = kind === "withdraw" ? await payoutCautions(user, api) : [];
  const effect = () => (
    <>
      <Cautions of={cautions} />
      <Facts
        of={[
          ["Trader", <TraderLink key="user" id={paid.userId} />],
          ["Amount", <Usd key="amount" of={paid.amount} />],
        ]}
      />
      <Money of={user} />
    </>
  );
  return { effect, ...(kind === "withdraw" && { seen: { expectRestricted: user.state === "restricted" } }) };
}

/** What a proposal would do, who agrees, who objects, and when it can take effect. */
export function Standing({ of: { proposal, subjects, objections: texts = [], effect } }: { of: Told }) {
  const { approvals, approvalsNeeded, objections, reason, evidence, finalAt, proposedBy, proposedAt } = proposal;
  const { value: approvers } = useLive((api) => approversOf(approvals, api), JSON.stringify(approvals));
  const agree = approvers ?? approvals.map(({ by }) => by);
  return (
    <>
      <p>It would {proposedWork(proposal, subjects)}.</p>
      {effect?.()}
      <Facts
        of={[
          ["Proposed by", proposedBy],
          ["Proposed at", <Time key="at" at={proposedAt} />],
          [
            "Reason",
            reason && (
              <bdi>
                <Sentence of={reason} />
              </bdi>
            ),
          ],
          [
            "Evidence",
            evidence === null ? (
              ""
            ) : (
              <bdi>
                <Sentence of={typeof evidence === "string" ? evidence : JSON.stringify(evidence)} />
              </bdi>
            ),
          ],
          ["Approvals", `${approvals.length} of ${approvalsNeeded}: ${agree.join(", ")}`],
          ["Objections", String(objections)],
          ["Earliest effect", <Time key="final" at={finalAt} />],
        ]}
      />
      {texts.map((text) => (
        <p key={text} dir="auto">
          {text}
        </p>
      ))}
    </>
  );
}
