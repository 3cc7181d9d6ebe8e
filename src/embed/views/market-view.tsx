import { useEffect, useState } from "preact/hooks";
import type { FrameData, FrameMarket } from "../../contract/resources/embed.ts";
import type { Side } from "../../domain/market/market.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import { cents, chance, clock, dollars, moment, nameOf, shares, signed, timeLeft, toneOf, volume } from "../format.ts";
import type { Portfolio, Session } from "../state/session.ts";
import { type LiveMarket, useMarket } from "../state/use-market.ts";
import { OFFERS, type Words } from "../words.ts";
import { Chart } from "./chart.tsx";
import { TradeForm } from "./trade-form.tsx";

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
  const { api, bridge, portfolio, refresh } = session;
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
      <OwnPositions portfolio={portfolio} marketId={detail.id} yesPrice={state.yesPrice} />
      {shown === "open" ? (
        <TradeForm
          marketId={detail.id}
          market={state}
          limits={data.limits}
          api={api}
          balanceUsd={portfolio?.wallet.balanceUsd}
          blocked={blockedBy(data, session)}
          onOffer={(offer) => bridge.tell(OFFERS[offer].event, { marketId: detail.id })}
          onTrade={(trade) => {
            bridge.tell("trade", { ...trade, action: trade.action ?? "buy" });
            // Otherwise the stream reports the fill.
            if (state.live !== "live") refresh();
          }}
        />
      ) : (
        <Rest status={shown} outcome={state.outcome} />
      )}
      <p class="soft small">
        Decided by: <bdi>{detail.resolutionRef}</bdi>
      </p>
    </main>
  );
}

/** Why trading is not possible here, known before the server is asked. */
function blockedBy({ apiKey, name }: FrameData, { bridge, signedIn }: Session): Words | undefined {
  if (apiKey === null) return { text: "Trading is not set up here." };
  if (!bridge.mayTrade) return { text: `Here you can only look. You can trade on the site of ${name}.` };
  return signedIn ? undefined : { text: "Please sign in on this page to trade.", offer: "sign-in" };
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

function OwnPositions({
  portfolio,
  marketId,
  yesPrice,
}: {
  portfolio: Portfolio | undefined;
  marketId: string;
  yesPrice: number;
}) {
  const own = portfolio?.positions.filter((position) => position.marketId === marketId) ?? [];
  if (own.length === 0) return null;
  return (
    <section class="own" aria-label="Your position">
      {own.map(({ side, shares: held, avgCost }) => {
        const price = side === "yes" ? yesPrice : 1 - yesPrice;
        const result = held * (price - avgCost);
        return (
          <p key={side}>
            <span>
              You hold{" "}
              <b class={side}>
                {shares(held)} {nameOf(side)}
              </b>{" "}
              at {cents(avgCost)}
            </span>
            <span>
              {dollars(held * price)} <b class={toneOf(result)}>{signed(result)}</b>
            </span>
          </p>
        );
      })}
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
