import { useEffect, useMemo, useState } from "preact/hooks";
import type { FrameData, FrameMarket } from "../contract/embed.ts";
import type { Mechanism, Side } from "../domain/market.ts";
import type { Pool } from "../domain/pool.ts";
import { Chart, type Point } from "./chart.tsx";
import { cents, chance, dollars, moment, shares, signed, timeLeft, volume } from "./format.ts";
import { followLive, type LiveState } from "./live.ts";
import type { EventName } from "./protocol.ts";
import { poolAt } from "./quote.ts";
import type { Portfolio, Session } from "./session.ts";
import { TradeForm } from "./trade-form.tsx";
import type { Words } from "./words.ts";

const OFFER_EVENTS: Record<NonNullable<Words["offer"]>, EventName> = {
  "sign-in": "auth-required",
  deposit: "deposit-requested",
  suitability: "suitability-required",
  verify: "error",
};

/** One market: what is asked, what people think, and a way to say otherwise with money. */
export function MarketView({
  data,
  market,
  session,
  theme,
}: {
  data: FrameData;
  market: FrameMarket;
  session: Session;
  theme: string;
}) {
  const { detail, terms } = market;
  const mechanism = useMemo<Mechanism>(
    () => ({ kind: terms.kind, p0Ppm: terms.p0Ppm, fundMicro: BigInt(terms.fundMicro) }),
    [terms],
  );
  const opening = useMemo<Pool>(() => ({ yesMicro: BigInt(terms.yesMicro), noMicro: BigInt(terms.noMicro) }), [terms]);
  const [yesPrice, setYesPrice] = useState(detail.yesPrice);
  const [status, setStatus] = useState(detail.status);
  const [outcome, setOutcome] = useState<Side | null>(detail.outcome);
  const [traded, setTraded] = useState(detail.volume);
  const [points, setPoints] = useState<Point[]>(() => market.history.map(({ t, yes }) => ({ t: Date.parse(t), yes })));
  const [live, setLive] = useState<LiveState>("connecting");
  const left = useTimeLeft(data.now, detail.closeAt);
  const pool = useMemo(() => poolAt(mechanism, opening, yesPrice), [mechanism, opening, yesPrice]);
  const { api, bridge, signedIn, portfolio, refresh } = session;

  // biome-ignore lint/correctness/useExhaustiveDependencies: who is signed in decides which events come
  useEffect(() => {
    return followLive(api, [detail.id], {
      onState: setLive,
      onEvent(name, event) {
        if (name === "snapshot" && "markets" in event) {
          const now = event.markets.find(({ marketId }) => marketId === detail.id);
          if (!now) return;
          setYesPrice(now.yesPrice);
          setStatus(now.status);
        } else if (name === "price" && "yesPrice" in event) {
          setYesPrice(event.yesPrice);
          setPoints((before) => [...before, { t: Date.parse(event.ts), yes: event.yesPrice }]);
        } else if (name === "trade" && "amount" in event) setTraded((before) => before + event.amount);
        else if (name === "market" && "status" in event) {
          setStatus(event.status);
          if (event.outcome) setOutcome(event.outcome);
          if (event.status === "settled") refresh();
        } else if (name === "fill") refresh();
      },
    });
  }, [detail.id, signedIn]);

  const shown = left <= 0 && status === "open" ? "closed" : status;
  const offer = (what: NonNullable<Words["offer"]>): void =>
    bridge.tell(OFFER_EVENTS[what], { marketId: detail.id, wanted: what });
  return (
    <main class="market">
      <header>
        <h1>{detail.question}</h1>
        <p class="soft facts">
          <span class="big">{chance(yesPrice)}</span> chance of Yes
          <span>{volume(traded)} traded</span>
          <time dateTime={detail.closeAt}>
            {shown === "open" ? `${timeLeft(left)} left` : `closed ${moment(detail.closeAt)}`}
          </time>
          <LiveDot state={live} />
        </p>
      </header>
      <Chart points={points} theme={theme} />
      <OwnPositions portfolio={portfolio} marketId={detail.id} yesPrice={yesPrice} />
      {shown === "open" ? (
        <TradeForm
          marketId={detail.id}
          mechanism={mechanism}
          pool={pool}
          yesPrice={yesPrice}
          limits={data.limits}
          balanceUsd={portfolio?.wallet.balanceUsd}
          blocked={blockedBy(data, session)}
          onOffer={offer}
          trade={async (purchase, key) => {
            const trade = await api.trade({ marketId: detail.id, ...purchase }, key);
            bridge.tell("trade", { ...trade });
            refresh();
            return trade;
          }}
        />
      ) : (
        <Rest status={shown} outcome={outcome} />
      )}
      <p class="soft small">Decided by: {detail.resolutionRef}</p>
    </main>
  );
}

/** Why nobody can trade here, before the server is even asked. */
function blockedBy({ apiKey }: FrameData, { bridge, signedIn }: Session): Words | undefined {
  if (apiKey === null) return { text: "Trading is not set up here." };
  if (!bridge.mayTrade) return { text: "Here you can only look. Trade on the site of this market's operator." };
  return signedIn ? undefined : { text: "Please sign in to trade.", offer: "sign-in" };
}

function Rest({ status, outcome }: { status: string; outcome: Side | null }) {
  const text =
    status === "settled"
      ? `Settled: ${outcome === "yes" ? "Yes" : "No"} won. A dollar was paid for each of its shares.`
      : status === "suspended"
        ? "Trading is paused. Positions are kept."
        : "Closed. The result is being decided.";
  return (
    <section class="panel" role="status">
      <p>{text}</p>
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
            You hold <b>{shares(held)}</b> {side === "yes" ? "Yes" : "No"} at {cents(avgCost)}, worth{" "}
            {dollars(held * price)} <span class={result < 0 ? "loss" : "gain"}>{signed(result)}</span>
          </p>
        );
      })}
    </section>
  );
}

const LIVE_WORDS: Record<LiveState, string> = {
  connecting: "connecting",
  live: "live",
  offline: "not live: reconnecting",
};

function LiveDot({ state }: { state: LiveState }) {
  return (
    <span class={`live ${state}`} role="status">
      {LIVE_WORDS[state]}
    </span>
  );
}

/** Milliseconds to the closing time by the server's clock, whatever the reader's says. */
function useTimeLeft(serverNow: number, closeAt: string): number {
  const [startedAt] = useState(() => performance.now());
  const [, tick] = useState(0);
  const left = Date.parse(closeAt) - (serverNow + performance.now() - startedAt);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), left < 3_600_000 ? 1000 : 30_000);
    return () => clearInterval(timer);
  }, [left < 3_600_000]);
  return left;
}
