import { useEffect, useRef } from "preact/hooks";
import type { FrameMarket } from "../../contract/resources/embed.ts";
import type { Viewer } from "../state/viewer.ts";
import { Sentences } from "./market-facts.tsx";

export interface ProposalProps {
  market: FrameMarket;
  viewer: Viewer;
}

/** What is proposed for a market, and a way to object for a user with a position. Few markets have one, so the form is a part of its own. */
export function Proposal({ market: { detail, proposal }, viewer: { api, portfolio } }: ProposalProps) {
  const place = useRef<HTMLDivElement>(null);
  const isOwn = ({ marketId }: { marketId: string }): boolean => marketId === detail.id;
  const mayObject = portfolio && (portfolio.positions.some(isOwn) || portfolio.settlements.some(isOwn));
  useEffect(() => {
    if (proposal && mayObject)
      import("../objection.ts").then(
        ({ showObjection }) => place.current && showObjection(place.current, proposal, api),
        () => {},
      );
  }, [proposal?.id, mayObject]);
  return (
    proposal && (
      <section class="own" data-pm="proposal" role="status">
        <Sentences of={proposal.said} />
        {mayObject && <div key={proposal.id} ref={place} />}
      </section>
    )
  );
}
