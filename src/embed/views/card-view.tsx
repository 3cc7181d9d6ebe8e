import type { FrameMarket } from "../../contract/resources/embed.ts";
import { SIDES } from "../../domain/market/pool.ts";
import { useSpeech } from "../speech.ts";
import { useMarket, useServerTime } from "../state/use-market.ts";
import type { Viewer } from "../state/viewer.ts";
import type { Wish } from "../ticket/draft.ts";
import { Sparkline } from "./market-card.tsx";
import { Closes, Sentences } from "./market-facts.tsx";
import { Headline, MarketState, statusShown } from "./market-head.tsx";

/** A card's little curve has as many points as those of a list. */
const SPARK_POINTS = 42;

export interface CardViewProps {
  market: FrameMarket;
  viewer: Viewer;
  /** Opens the market with a side chosen. */
  open(marketId: string, wish?: Wish): void;
}

/** The odds of one market, and its two sides as the ways into it. */
export function CardView({ market, viewer, open }: CardViewProps) {
  const { detail } = market;
  const { say, chance } = useSpeech();
  const state = useMarket(market, viewer);
  const left = Date.parse(detail.closeAt) - useServerTime(viewer.api.clock, detail.closeAt);
  const status = statusShown(state.status, left);
  const price = { yes: state.yesPrice, no: 1 - state.yesPrice };
  return (
    <main class="card odds-card" data-pm="card">
      <h1 data-pm="question" dir="auto">
        {detail.question}
      </h1>
      <p class="facts">
        <Headline {...state} status={status} />
        <MarketState status={status} market={state} />
      </p>
      <Sentences of={market.ended} />
      <Sparkline
        prices={state.points.slice(-SPARK_POINTS).map(({ yes }) => Math.round(yes * 1e6))}
        latest={state.yesPrice}
      />
      {status === "open" && (
        <p class="sides">
          {SIDES.map((side) => (
            <button
              key={side}
              type="button"
              class={`side ${side}`}
              data-pm={`card-${side}`}
              onClick={() => open(detail.id, { side, action: "buy" })}
            >
              <span>{say(`common.${side}`)}</span> <b>{chance(price[side])}</b>
            </button>
          ))}
        </p>
      )}
      <p class="soft small">
        <Closes closeAt={detail.closeAt} left={left} />
      </p>
    </main>
  );
}
