import { useEffect, useState } from "preact/hooks";
import type { FrameData, FrameMarket } from "../../contract/resources/embed.ts";
import type { Side } from "../../domain/market/market.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import { chance, clock, moment, nameOf, timeLeft, volume } from "../format.ts";
import type { Session } from "../state/session.ts";
import { type LiveMarket, useMarket } from "../state/use-market.ts";
import type { Wish } from "../ticket/draft.ts";
import { Chart } from "./chart.tsx";
import { Trading } from "./trading.tsx";

export interface MarketViewProps {
  data: FrameData;
  market: FrameMarket;
  session: Session;
  theme: string;
  /** The view that the reader came from; undefined when the frame began with this market. */
  back: { label: string; href: string } | undefined;
}

/** One market: its question, price, curve and the trade form. */
export function MarketView({ data, market, session, theme, back }: MarketViewProps) {
  const { detail } = market;
  const now = useServerTime(data.now, detail.closeAt);
  const state = useMarket(market, session, data.now);
  const left = Date.parse(detail.closeAt) - now;
  const shown = left <= 0 && state.status !== "settled" ? "closed" : state.status;
  return (
    <main class="market">
      {back && (
        <a class="back" href={back.href}>
          ‹ {back.label}
        </a>
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
        {(shown === "open" || shown === "suspended") && <LiveState state={state} />}
      </p>
      <Chart points={state.points} theme={theme} now={Math.min(now, Date.parse(detail.closeAt))} />
      <Trading
        data={data}
        session={session}
        marketId={detail.id}
        market={state}
        isOpen={shown === "open"}
        wish={wishOf(new URLSearchParams(location.search).get("side"))}
      />
      {shown !== "open" && <Rest status={shown} outcome={state.outcome} />}
      <p class="soft small">
        Decided by: <bdi>{detail.resolutionRef}</bdi>
      </p>
    </main>
  );
}

/** The ticket opens with the side of a card that was tapped. */
function wishOf(side: string | null): Wish | undefined {
  return side === "yes" || side === "no" ? { side, action: "buy" } : undefined;
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

function LiveState({ state: { live, heardAt } }: { state: LiveMarket }) {
  const words = {
    connecting: "connecting",
    live: "live",
    offline: `not live since ${clock(heardAt)}`,
  };
  return (
    <span class={`live is-${live}`} role="status">
      {words[live]}
    </span>
  );
}

/** The server's time, so that a wrong clock of the reader does no harm; it moves every ten seconds, in the last hour every second. */
function useServerTime(serverNow: number, closeAt: string): number {
  const [startedAt] = useState(() => performance.now());
  const [now, setNow] = useState(serverNow);
  const left = Date.parse(closeAt) - now;
  const stepMs = left > 0 && left < HOUR_MS ? 1000 : 10_000;
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow + performance.now() - startedAt), stepMs);
    return () => clearInterval(timer);
  }, [serverNow, startedAt, stepMs]);
  return now;
}
