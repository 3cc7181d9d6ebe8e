import { useEffect, useRef } from "preact/hooks";
import { NONE } from "../../../client/inbox/proposed.ts";
import type { Api, WireResult } from "../../../contract/operations.ts";
import { outcomeFlag } from "../../../domain/market/outcome.ts";
import { useDesk, type ViewProps } from "../../desk.ts";
import { useLive } from "../../live/use-live.ts";
import { Sentence } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { Refused } from "../../refused.ts";
import { pmctl } from "../../terminal-line.ts";
import { Held } from "../oracle/held.tsx";
import { Decisions } from "../proposals/decisions.tsx";
import { type Proposal, Standing } from "../proposals/proposed.tsx";
import { MarketActions } from "./actions.tsx";
import { MarketFacts } from "./facts.tsx";
import { Depth, Price } from "./figures.tsx";
import { type End, Liability, Paid, proposedEnd, readEnds } from "./liability.tsx";
import { type Life, readLife } from "./life.ts";
import { Positions } from "./positions.tsx";
import { Decision, Timeline } from "./timeline.tsx";
import type { Market } from "./words.tsx";

/** What the page shows; undefined is what the key may not read. */
interface Shown {
  market: Market;
  history: WireResult<"getMarketHistory">;
  depth: WireResult<"getMarketDepth"> | undefined;
  proposals: readonly Proposal[];
  /** What each outcome would pay, those of proposals too; undefined once the market has one. */
  ends: readonly End[] | undefined;
}

/** One market: its figures, its whole life, and what an operator can do about it. */
export function MarketView({ id, query }: ViewProps) {
  const { session, changes } = useDesk();
  const live = useLive((api) => readMarket(api, id), id);
  // The figures do not wait for a long life.
  const known = useRef<Life | undefined>(undefined);
  const { value: life, refused } = useLive(async (api) => {
    known.current = await readLife(api, id, known.current);
    return known.current;
  }, id);
  useEffect(() => {
    changes.watch([id]);
    return () => changes.watch([]);
  }, [changes, id]);
  const market = live.value?.market;
  return (
    <View
      name={market?.question ?? id}
      live={live}
      line={pmctl(session.tenant, "market", "show", id)}
      tools={market && <MarketActions of={market} />}
    >
      {({ market: of, history, depth, proposals, ends }) => (
        <>
          {of.status !== "settled" && <Held id={of.id} />}
          {proposals.map((proposal) => {
            const subjects = { ...NONE, questions: new Map([[of.id, of.question]]) };
            const end = ends?.find(({ outcome }) => outcomeFlag(outcome) === proposedEnd(proposal));
            return (
              <section key={proposal.proposalId} class="waiting" aria-label="Pending proposal">
                <h2>A proposal waits</h2>
                <Standing of={{ proposal, subjects, effect: () => end && <Paid of={end} /> }} />
                <p class="soft">
                  Each button first shows every sum that would move, those of the fees and the treasury too.
                </p>
                <Decisions of={proposal} subjects={subjects} />
              </section>
            );
          })}
          {of.status === "settled" && life && <Decision of={life} market={of} />}
          <MarketFacts of={of} />
          <Price history={history} life={life} of={of} />
          {ends && <Liability of={ends} />}
          {depth && <Depth of={depth} />}
          <Positions id={of.id} query={query} />
          {refused && (
            <p class="problem">
              The market's entries of the audit log: <Sentence of={refused.message} />
            </p>
          )}
          {!life && !refused && <p class="empty">Reading the market's entries of the audit log …</p>}
          {life && <Timeline of={life} market={of} />}
        </>
      )}
    </View>
  );
}

async function readMarket(api: Api, id: string): Promise<Shown> {
  const [market, history, waiting] = await Promise.all([
    api.getMarket({ id }),
    api.getMarketHistory({ id }),
    ifAllowed(api.listProposals({ marketId: id, status: "pending", limit: 20 })),
  ]);
  const proposals = waiting?.items ?? [];
  const [depth, ends] =
    market.status === "settled"
      ? []
      : await Promise.all([api.getMarketDepth({ id }), ifAllowed(readEnds(api, id, proposals))]);
  return { market, history, depth, proposals, ends };
}

/** Undefined for what the key may not read, and for what a settlement in the meantime makes pointless. */
async function ifAllowed<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refused && ["SCOPE_REQUIRED", "MARKET_SETTLED"].includes(error.code)) return undefined;
    throw error;
  }
}
