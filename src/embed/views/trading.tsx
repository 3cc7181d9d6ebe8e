import { useEffect, useState } from "preact/hooks";
import type { FrameData } from "../../contract/resources/embed.ts";
import type { Side } from "../../domain/market/market.ts";
import { useSpeech } from "../speech.ts";
import type { LiveMarket } from "../state/use-market.ts";
import type { Viewer } from "../state/viewer.ts";
import type { Held, Wish } from "../ticket/draft.ts";
import { sellValueAt } from "../ticket/quote.ts";
import { type Words, wordsOfElsewhere } from "../words.ts";
import { OwnPosition } from "./own-positions.tsx";
import { Ticket } from "./ticket.tsx";

export interface TradingProps {
  data: FrameData;
  viewer: Viewer;
  marketId: string;
  market: LiveMarket;
  /** Whether trades are taken now. */
  isOpen: boolean;
  /** The first order of the ticket: the side of the tapped card, or a position to sell. */
  wish?: Wish | undefined;
}

/** The user's own positions in a market, and the ticket. A reader who signs in keeps the order that they began; it ends with its user. */
export function Trading(props: TradingProps) {
  return <TradingOf key={props.viewer.left} {...props} />;
}

function TradingOf({ data, viewer, marketId, market, isOpen, wish: first }: TradingProps) {
  const { say } = useSpeech();
  const [wish, setWish] = useState(first);
  const own = viewer.portfolio?.positions.filter((position) => position.marketId === marketId) ?? [];
  const heldOf = (side: Side): bigint =>
    BigInt(Math.round((own.find((position) => position.side === side)?.shares ?? 0) * 1e6));
  const held: Held = { yes: heldOf("yes"), no: heldOf("no") };
  const { mechanism, pool, yesPrice } = market;
  const [feeBps, setFeeBps] = useState(data.limits.feeBps);
  useEffect(() => setFeeBps(data.limits.feeBps), [data]);
  return (
    <>
      {own.length > 0 && (
        <section class="own" aria-label={say("ticket.own")}>
          {own.map((position) => (
            <OwnPosition
              key={position.side}
              position={position}
              sellValue={sellValueAt({ mechanism, pool, feeBps }, { ...position, yesPrice })}
              onSell={isOpen ? (all) => setWish({ side: position.side, action: "sell", all }) : undefined}
            />
          ))}
        </section>
      )}
      {isOpen && (
        <Ticket
          data={data}
          viewer={viewer}
          marketId={marketId}
          market={market}
          feeBps={feeBps}
          onFee={setFeeBps}
          held={held}
          blocked={blockedBy(data, viewer)}
          wish={wish}
        />
      )}
    </>
  );
}

/** Why trading is not possible here, as far as the frame knows without the server. */
function blockedBy(data: FrameData, { bridge, settled, signedIn }: Viewer): Words | undefined {
  if (data.apiKey === null) return { key: "ticket.notSetUp" };
  const elsewhere = wordsOfElsewhere(data, "ticket.lookOnly");
  if (!bridge.mayTrade) return elsewhere;
  if (signedIn || !settled) return undefined;
  if (bridge.signsIn) return { key: "ticket.signIn", offer: "signin" };
  // The service's own pages lead the reader to that site; on any other page the button would do nothing.
  return { ...elsewhere, offer: elsewhere.href && bridge.host === location.origin ? "signin" : undefined };
}
