import type { FrameData, FrameMarket } from "../../contract/resources/embed.ts";
import { useSpeech } from "../speech.ts";
import { useMarket, useServerTime } from "../state/use-market.ts";
import type { Viewer } from "../state/viewer.ts";
import type { Wish } from "../ticket/draft.ts";
import { Chart } from "./chart.tsx";
import { Closes, Facts, Result } from "./market-facts.tsx";
import { Headline, MarketState, statusShown } from "./market-head.tsx";
import { Proposal } from "./proposal.tsx";
import { Trading } from "./trading.tsx";

export interface MarketViewProps {
  data: FrameData;
  market: FrameMarket;
  viewer: Viewer;
  theme: string;
  /** What the reader chose on the way here. */
  wish?: Wish | undefined;
  /** The view that the reader came from; none when the frame began with this market. */
  back?: { view: FrameData["view"]; go(): void };
}

/** One market: its question, price, curve, ticket and rules. */
export function MarketView({ data, market, viewer, theme, wish, back }: MarketViewProps) {
  const { detail } = market;
  const { api, portfolio } = viewer;
  const { say, volume } = useSpeech();
  const now = useServerTime(api.clock, detail.closeAt);
  const state = useMarket(market, viewer);
  const left = Date.parse(detail.closeAt) - now;
  const status = statusShown(state.status, left);
  const { settledAt } = detail;
  return (
    <main class="market">
      {back && (
        <button type="button" class="link back" data-pm="back" onClick={back.go}>
          ‹ {say(back.view === "portfolio" ? "state.toPortfolio" : "state.toMarkets")}
        </button>
      )}
      <h1 data-pm="question" dir="auto">
        {detail.question}
      </h1>
      <p class="facts">
        <Headline {...state} status={status} />
        <span>{say("market.traded", { amount: volume(state.volume) })}</span>
        {(status !== "settled" || left <= 0) && <Closes closeAt={detail.closeAt} left={left} />}
        <MarketState status={status} market={state} />
      </p>
      <Chart
        points={state.points}
        theme={theme}
        now={settledAt ? Date.parse(settledAt) : now}
        isSettled={status === "settled"}
      />
      <Proposal market={market} viewer={viewer} />
      <Trading data={data} viewer={viewer} marketId={detail.id} market={state} isOpen={status === "open"} wish={wish} />
      {status !== "open" && <Rest {...{ status, market, portfolio }} />}
      <Facts market={market} />
    </main>
  );
}

interface RestProps {
  status: string;
  portfolio: Viewer["portfolio"];
  market: FrameMarket;
}

/** What replaces the ticket while nothing can be traded. */
function Rest({ status, ...settled }: RestProps) {
  const { say } = useSpeech();
  if (status === "settled") return <Result {...settled} />;
  return (
    <section class="panel" role="status">
      {say(status === "suspended" ? "market.paused" : "market.awaiting")}
    </section>
  );
}
