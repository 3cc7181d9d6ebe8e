import { useEffect, useRef } from "preact/hooks";
import type { Api, WireResult } from "../../../contract/operations.ts";
import { useDesk, type ViewProps } from "../../desk.ts";
import { useLive } from "../../live/use-live.ts";
import { Facts } from "../../parts/facts.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { Refused } from "../../refused.ts";
import { addressOf } from "../../router.ts";
import { pmctl } from "../../terminal-line.ts";
import { Decisions } from "../proposals/decisions.tsx";
import { type Proposal, Standing } from "../proposals/proposed.tsx";
import { MarketActions } from "./actions.tsx";
import { MarketFacts } from "./facts.tsx";
import { Depth, Liability, Price } from "./figures.tsx";
import { type Life, readLife } from "./life.ts";
import { Positions } from "./positions.tsx";
import { Timeline } from "./timeline.tsx";
import type { Market } from "./words.tsx";

export type Preview = WireResult<"previewSettlement">;

type Hold = WireResult<"listHeldMarkets">[number];

/** What the page shows; undefined is what the key may not read. */
interface Shown {
  market: Market;
  history: WireResult<"getMarketHistory">;
  depth: WireResult<"getMarketDepth"> | undefined;
  proposals: readonly Proposal[];
  /** Why the oracle left the market to a person. */
  held: Hold | undefined;
  /** What each outcome would pay; undefined once the market has one. */
  previews: readonly Preview[] | undefined;
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
      {({ market: of, history, depth, proposals, held, previews }) => (
        <>
          {held && <Held of={held} />}
          {proposals.map((proposal) => (
            <section key={proposal.proposalId} class="waiting" aria-label="Pending proposal">
              <h2>A proposal waits</h2>
              <Standing of={{ proposal }} />
              <Decisions of={proposal} subjects={{ questions: new Map([[of.id, of.question]]) }} />
            </section>
          ))}
          <MarketFacts of={of} />
          <Price history={history} life={life} of={of} />
          {previews && <Liability of={previews} />}
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

/** What the oracle could not decide, and what it saw. */
function Held({ of: { reason, detail, resolutionRef, heldAt } }: { of: Hold }) {
  return (
    <section class="waiting" aria-label="Held for a person">
      <h2>Held for a person</h2>
      <Facts
        of={[
          ["Why", <bdi key="why">{reason}</bdi>],
          [
            "Evidence",
            <bdi key="evidence">
              <Sentence of={detail} />
            </bdi>,
          ],
          ["Rule", <bdi key="rule">{resolutionRef}</bdi>],
          ["Since", <Time key="since" at={heldAt} />],
          [
            "Sources",
            <a key="sources" href={addressOf("/oracle")}>
              Oracle
            </a>,
          ],
        ]}
      />
    </section>
  );
}

async function readMarket(api: Api, id: string): Promise<Shown> {
  const [market, history] = await Promise.all([api.getMarket({ id }), api.getMarketHistory({ id })]);
  const isOver = market.status === "settled";
  const [depth, proposals, holds, previews] = await Promise.all([
    isOver ? undefined : api.getMarketDepth({ id }),
    ifAllowed(api.listProposals({ marketId: id, status: "pending", limit: 20 })),
    isOver ? undefined : ifAllowed(api.listHeldMarkets({ marketId: id })),
    isOver
      ? undefined
      : ifAllowed(Promise.all(["yes", "no", "void"].map((outcome) => api.previewSettlement({ id, outcome })))),
  ]);
  return { market, history, depth, proposals: proposals?.items ?? [], held: holds?.[0], previews };
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
