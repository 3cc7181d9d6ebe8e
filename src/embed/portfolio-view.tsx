import type { FrameData } from "../contract/embed.ts";
import { cents, day, dollars, shares, signed } from "./format.ts";
import type { Portfolio, Session } from "./session.ts";
import { Problem } from "./trade-form.tsx";

/** What a user holds, what it is worth, and what became of the rest. */
export function PortfolioView({
  data,
  session,
  open,
}: {
  data: FrameData;
  session: Session;
  open(marketId: string): void;
}) {
  const { bridge, signedIn, portfolio } = session;
  if (!bridge.mayTrade)
    return (
      <main>
        <h1>Your positions</h1>
        <p class="soft">They can be seen on the site of {data.name}.</p>
      </main>
    );
  if (!signedIn)
    return (
      <main>
        <h1>Your positions</h1>
        <Problem
          words={{ text: "Please sign in to see them.", offer: "sign-in" }}
          onOffer={() => bridge.tell("auth-required")}
        />
      </main>
    );
  if (!portfolio)
    return (
      <main aria-busy="true">
        <h1>Your positions</h1>
        <p class="soft">Loading…</p>
      </main>
    );
  const { wallet, positions, settlements } = portfolio;
  const value = positions.reduce((sum, position) => sum + position.shares * position.currentPrice, 0);
  const result = positions.reduce((sum, position) => sum + position.unrealizedPnl, 0);
  return (
    <main class="portfolio">
      <h1>Your positions</h1>
      <dl class="tiles">
        <Tile name="Wallet" value={dollars(wallet.balanceUsd)} />
        <Tile name="Positions" value={dollars(value)} />
        <Tile name="Open result" value={signed(result)} tone={result < 0 ? "loss" : "gain"} />
      </dl>
      {wallet.pendingWithdrawalsUsd > 0 && (
        <p class="soft">{dollars(wallet.pendingWithdrawalsUsd)} on the way to you.</p>
      )}
      <Open positions={positions} open={open} />
      <Past settlements={settlements} />
    </main>
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
  if (positions.length === 0) return <p class="soft">Nothing open at the moment.</p>;
  return (
    <ul class="rows">
      {positions.map(({ marketId, question, side, shares: held, avgCost, currentPrice, unrealizedPnl }) => (
        <li key={`${marketId} ${side}`}>
          <button type="button" onClick={() => open(marketId)}>
            <span class="question">{question}</span>
            <span>
              <b class={side}>{side === "yes" ? "Yes" : "No"}</b> {shares(held)} at {cents(avgCost)}, now{" "}
              {cents(currentPrice)}
            </span>
            <b class={unrealizedPnl < 0 ? "loss" : "gain"}>{signed(unrealizedPnl)}</b>
          </button>
        </li>
      ))}
    </ul>
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
            <span class="question">{question}</span>
            <span>
              <b class={side}>{side === "yes" ? "Yes" : "No"}</b> {side === outcome ? "won" : "lost"} on{" "}
              {day(settledAt)}
            </span>
            <b class={payout < cost ? "loss" : "gain"}>{signed(payout - cost)}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}
