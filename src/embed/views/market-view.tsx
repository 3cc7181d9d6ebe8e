import { useEffect, useState } from "preact/hooks";
import type { FrameData, FrameMarket } from "../../contract/resources/embed.ts";
import type { Side } from "../../domain/market/market.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import { chance, moment, nameOf, timeLeft, volume } from "../format.ts";
import { useSpeech } from "../speech.ts";
import type { Session } from "../state/session.ts";
import { type LiveMarket, useMarket } from "../state/use-market.ts";
import type { ServerClock } from "../stream/clock.ts";
import { Chart } from "./chart.tsx";
import { Trading } from "./trading.tsx";

export interface MarketViewProps {
  data: FrameData;
  market: FrameMarket;
  session: Session;
  theme: string;
  /** The view that the reader came from; none when the frame began with this market. */
  back?: { view: FrameData["view"]; go(): void };
  /** Of the card that was tapped: the ticket begins with it. */
  side?: Side | undefined;
}

/** One market: its question, price, curve and the trade form. */
export function MarketView({ data, market, session, theme, back, side }: MarketViewProps) {
  const { detail } = market;
  const { say } = useSpeech();
  const now = useServerTime(session.api.clock, detail.closeAt);
  const state = useMarket(market, session);
  const left = Date.parse(detail.closeAt) - now;
  const shown = left <= 0 && state.status !== "settled" ? "closed" : state.status;
  return (
    <main class="market">
      {back && (
        <button type="button" class="link back" data-pm="back" onClick={back.go}>
          ‹ {say(back.view === "portfolio" ? "state.toPortfolio" : "state.toMarkets")}
        </button>
      )}
      <h1 dir="auto">{detail.question}</h1>
      <p class="facts">
        <Headline status={shown} outcome={state.outcome} yesPrice={state.yesPrice} />
        <span>{volume(state.volume)} traded</span>
        {(left <= 0 || shown !== "settled") && (
          <time dateTime={detail.closeAt} title={moment(detail.closeAt)}>
            {left > 0 ? `${timeLeft(left)} left` : `closed ${moment(detail.closeAt)}`}
          </time>
        )}
        <MarketState status={shown} market={state} />
      </p>
      <Chart points={state.points} theme={theme} now={Math.min(now, Date.parse(detail.closeAt))} />
      <Trading
        data={data}
        session={session}
        marketId={detail.id}
        market={state}
        isOpen={shown === "open"}
        wish={side && { side, action: "buy" }}
      />
      {shown !== "open" && <Rest status={shown} outcome={state.outcome} />}
      <p class="soft small">
        Decided by: <bdi>{detail.resolutionRef}</bdi>
      </p>
    </main>
  );
}

/** The chance, or the result once the market is settled. */
function Headline({ status, outcome, yesPrice }: { status: string; outcome: Side | null; yesPrice: number }) {
  if (status === "settled" && outcome)
    return (
      <>
        <b class={`big ${outcome}`}>{nameOf(outcome)}</b> <span>won</span>
      </>
    );
  return (
    <>
      <b class="big">{chance(yesPrice)}</b> <span>chance of Yes</span>
    </>
  );
}

function Rest({ status, outcome }: { status: string; outcome: Side | null }) {
  const text =
    status === "settled" && outcome
      ? `Settled: ${nameOf(outcome)} won. A dollar was paid for each of its shares.`
      : status === "suspended"
        ? "Trading is paused at the moment. Positions are kept."
        : "Closed. The result is being decided.";
  return (
    <section class="panel" role="status">
      {text}
    </section>
  );
}

/** How the market stands, and whether the reader sees it as it is now. */
function MarketState({ status, market: { live, heardAt } }: { status: string; market: LiveMarket }) {
  const { say, clock } = useSpeech();
  const state = STATES[status] ?? live;
  return (
    <span class={`live is-${state}`} data-pm="state" data-state={state} role="status">
      {state === "offline" ? say("state.offline", { time: clock(heardAt) }) : say(`state.${state}`)}
    </span>
  );
}

/** The states of a market that say more than whether its price is live. */
const STATES: Record<string, "paused" | "closed" | "settled"> = {
  suspended: "paused",
  closed: "closed",
  settled: "settled",
};

/** The server's time; it moves every ten seconds, in the last hour every second. */
function useServerTime(clock: ServerClock, closeAt: string): number {
  const [now, setNow] = useState(() => clock.now());
  const left = Date.parse(closeAt) - now;
  const stepMs = left > 0 && left < HOUR_MS ? 1000 : 10_000;
  useEffect(() => {
    const timer = setInterval(() => setNow(clock.now()), stepMs);
    return () => clearInterval(timer);
  }, [clock, stepMs]);
  return now;
}
