import type { FrameData } from "../../contract/resources/embed.ts";
import { cents, day, dollars, nameOf, shares, signed, toneOf } from "../format.ts";
import type { Portfolio, Session } from "../state/session.ts";
import { usePrices } from "../state/use-prices.ts";
import { Problem, WayOut } from "./problem.tsx";

export interface PortfolioViewProps {
  data: FrameData;
  session: Session;
  open(marketId: string): void;
}

/** A user's positions with their values, and the settled ones with their results. */
export function PortfolioView({ data, session, open }: PortfolioViewProps) {
  const { portfolio, signedIn } = session;
  const { prices, live } = usePrices(session, signedIn);
  return (
    <main class="portfolio">
      <h1>Your positions</h1>
      {portfolio ? (
        <>
          {live === "offline" && (
            <p class="warning" role="status">
              Values are not live at the moment: reconnecting.
            </p>
          )}
          <Holdings portfolio={valuedAt(portfolio, prices)} session={session} open={open} />
        </>
      ) : (
        <Nothing data={data} session={session} />
      )}
    </main>
  );
}

/** The portfolio with its positions valued at the current prices. */
function valuedAt(portfolio: Portfolio, prices: Record<string, number>): Portfolio {
  const positions = portfolio.positions.map((position) => {
    const yesPrice = prices[position.marketId];
    if (yesPrice === undefined) return position;
    const currentPrice = position.side === "yes" ? yesPrice : 1 - yesPrice;
    return { ...position, currentPrice, unrealizedPnl: position.shares * (currentPrice - position.avgCost) };
  });
  return { ...portfolio, positions };
}

/** Why no portfolio is shown: trading is not possible here, no user is signed in, it is loading, or it cannot be read. */
function Nothing({ data, session: { bridge, settled, signedIn, problem } }: { data: FrameData; session: Session }) {
  if (data.apiKey === null || !bridge.mayTrade) return <p class="soft">You can see them on the site of {data.name}.</p>;
  if (problem) return <Problem words={problem} onOffer={() => {}} />;
  if (signedIn || !settled) return <p class="soft">Loading…</p>;
  return (
    <Problem
      words={{ text: "Please sign in on this page to see them.", offer: "signin" }}
      onOffer={(offer) => bridge.tell(offer, {})}
    />
  );
}

function Holdings({
  portfolio: { wallet, positions, settlements },
  session: { bridge },
  open,
}: {
  portfolio: Portfolio;
  session: Session;
  open(marketId: string): void;
}) {
  const value = positions.reduce((sum, position) => sum + position.shares * position.currentPrice, 0);
  const result = positions.reduce((sum, position) => sum + position.unrealizedPnl, 0);
  const settledResult = settlements.reduce((sum, { payout, cost }) => sum + payout - cost, 0);
  return (
    <>
      <dl class="tiles">
        <Tile name="Wallet" value={dollars(wallet.balanceUsd)} />
        <Tile name="Positions" value={dollars(value)} />
        <Tile name="Profit, open" value={signed(result)} tone={toneOf(result)} />
        {settlements.length > 0 && (
          <Tile name="Profit, settled" value={signed(settledResult)} tone={toneOf(settledResult)} />
        )}
      </dl>
      <p class="wallet">
        {wallet.pendingWithdrawalsUsd > 0 && (
          <span class="soft">{dollars(wallet.pendingWithdrawalsUsd)} is on its way to you.</span>
        )}
        <WayOut offer="deposit" onOffer={(offer) => bridge.tell(offer, {})} />
      </p>
      <Open positions={positions} open={open} />
      <Past settlements={settlements} />
    </>
  );
}

function Tile({ name, value, tone = "" }: { name: string; value: string; tone?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={tone}>{value}</dd>
    </div>
  );
}

function Open({ positions, open }: { positions: Portfolio["positions"]; open(marketId: string): void }) {
  return (
    <section>
      <h2>Open</h2>
      {positions.length === 0 && <p class="soft">Nothing at the moment.</p>}
      <ul class="rows">
        {positions.map(({ marketId, question, side, shares: held, avgCost, currentPrice, unrealizedPnl }) => (
          <li key={`${marketId} ${side}`}>
            <button type="button" data-market={marketId} onClick={() => open(marketId)}>
              <span class="question" dir="auto">
                {question}
              </span>
              <span class="soft">
                <b class={side}>
                  {shares(held)} {nameOf(side)}
                </b>{" "}
                at {cents(avgCost)}, now {cents(currentPrice)}
              </span>
              <span class="worth">
                {dollars(held * currentPrice)} <b class={toneOf(unrealizedPnl)}>{signed(unrealizedPnl)}</b>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Past({ settlements }: { settlements: Portfolio["settlements"] }) {
  if (settlements.length === 0) return null;
  return (
    <section>
      <h2>Settled</h2>
      <ul class="rows">
        {settlements.map(({ marketId, question, side, outcome, cost, payout, settledAt }) => (
          <li key={`${marketId} ${side}`}>
            <span class="question" dir="auto">
              {question}
            </span>
            <span class="soft">
              <b class={side}>{nameOf(side)}</b> {side === outcome ? "won" : "lost"} on {day(settledAt)}
            </span>
            <span class="worth">
              {dollars(payout)} <b class={toneOf(payout - cost)}>{signed(payout - cost)}</b>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
