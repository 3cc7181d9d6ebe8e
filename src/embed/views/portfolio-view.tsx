import type { FrameData } from "../../contract/resources/embed.ts";
import { toneOf } from "../../locales/formats.ts";
import { outcomeSaid, wonBy } from "../../locales/outcome-words.ts";
import type { SentencePiece } from "../../locales/sentence-pieces.ts";
import type { Speaker } from "../../locales/speaker.ts";
import { useSpeech } from "../speech.ts";
import { useCurrentValues, usePrices } from "../state/use-prices.ts";
import type { Portfolio, Viewer } from "../state/viewer.ts";
import type { Wish } from "../ticket/draft.ts";
import { wordsOfElsewhere } from "../words.ts";
import { OpenButton } from "./market-card.tsx";
import { OwnResult, Sentences } from "./market-facts.tsx";
import { MarketState, STATES } from "./market-head.tsx";
import { OwnPosition } from "./own-positions.tsx";
import { Problem, Said, WayOut } from "./problem.tsx";

export interface PortfolioViewProps {
  data: FrameData;
  viewer: Viewer;
  open(marketId: string, wish?: Wish): void;
}

/** A user's positions with what selling them pays, and the settled ones with their results. */
export function PortfolioView({ data, viewer, open }: PortfolioViewProps) {
  const { say } = useSpeech();
  const { portfolio, signedIn, problem, bridge } = viewer;
  const feed = usePrices(viewer, signedIn);
  useCurrentValues(viewer, feed.prices);
  // The frame keeps its reserved height until it has contents, so that nothing moves.
  const isWaiting = !portfolio && !problem && isComing(data, viewer);
  return (
    <main class={isWaiting ? "portfolio waiting" : "portfolio"} aria-busy={isWaiting}>
      <div class="headline">
        <h1>{say("state.toPortfolio")}</h1>
        {portfolio && <MarketState status="open" market={feed} />}
      </div>
      {portfolio ? (
        <>
          <Sums portfolio={portfolio} />
          <p class="wallet">
            <WayOut offer="deposit" onOffer={(offer) => bridge.tell(offer, {})} />
          </p>
          <Open positions={portfolio.positions} statuses={feed.statuses} open={open} />
          <Past settlements={portfolio.settlements} open={open} />
        </>
      ) : (
        <Nothing data={data} viewer={viewer} />
      )}
      {problem && <Problem words={problem} onOffer={() => {}} />}
    </main>
  );
}

/** Whether a portfolio is on its way, or may be. */
function isComing({ apiKey }: FrameData, { bridge, settled, signedIn }: Viewer): boolean {
  return apiKey !== null && bridge.mayTrade && (signedIn || !settled);
}

/** Why no portfolio is shown: trading is not possible here, no user is signed in, or it is loading. */
function Nothing({ data, viewer }: { data: FrameData; viewer: Viewer }) {
  const { say } = useSpeech();
  const { bridge, problem } = viewer;
  if (problem) return null;
  if (isComing(data, viewer)) return <p class="soft">{say("common.loading")}</p>;
  if (data.apiKey === null || !bridge.mayTrade || !bridge.signsIn)
    return (
      <p class="soft">
        <Said words={wordsOfElsewhere(data, "portfolio.elsewhere")} />
      </p>
    );
  return (
    <Problem isKnown words={{ key: "portfolio.signIn", offer: "signin" }} onOffer={(offer) => bridge.tell(offer, {})} />
  );
}

/** The wallet, and what selling all positions pays now. */
function Sums({ portfolio: { wallet, positions, sellValueUsd } }: { portfolio: Portfolio }) {
  const { say, dollars, signed } = useSpeech();
  const result = positions.reduce((sum, { sellPnl }) => sum + sellPnl, 0);
  return (
    <>
      <dl class="tiles">
        <Tile name={say("portfolio.wallet")} value={dollars(wallet.balanceUsd)} />
        <Tile name={say("portfolio.sellsFor")} value={dollars(sellValueUsd)} />
        <Tile name={say("portfolio.resultIfSold")} value={signed(result)} tone={toneOf(result)} />
      </dl>
      {wallet.pendingWithdrawalsUsd > 0 && (
        <p class="soft">{say("portfolio.onItsWay", { amount: dollars(wallet.pendingWithdrawalsUsd) })}</p>
      )}
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

interface OpenProps {
  positions: Portfolio["positions"];
  statuses: Readonly<Record<string, string>>;
  open(marketId: string, wish?: Wish): void;
}

function Open({ positions, statuses, open }: OpenProps) {
  const { say } = useSpeech();
  return (
    <section>
      <h2>{say("portfolio.open")}</h2>
      {positions.length === 0 && <p class="soft">{say("portfolio.none")}</p>}
      <ul class="rows">
        {positions.map((position) => {
          const { marketId, question, side, sellValue, status } = position;
          const state = STATES[statuses[marketId] ?? status];
          return (
            <li key={`${marketId} ${side}`}>
              <OpenButton marketId={marketId} question={question} onOpen={() => open(marketId)} />
              {state && <p class="soft">{say(`state.${state}`)}</p>}
              <OwnPosition
                position={position}
                sellValue={sellValue}
                question={question}
                onSell={state ? undefined : (all) => open(marketId, { side, action: "sell", all })}
              />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface PastProps {
  settlements: Portfolio["settlements"];
  open(marketId: string): void;
}

function Past({ settlements, open }: PastProps) {
  const speaker = useSpeech();
  const { say, day, dollars, shares } = speaker;
  if (settlements.length === 0) return null;
  return (
    <section>
      <h2>{say("portfolio.settled")}</h2>
      <ul class="rows">
        {settlements.map((settled) => {
          const { marketId, question, side, outcome, shares: held, cost, payout, settledAt } = settled;
          return (
            <li key={`${marketId} ${side}`}>
              <OpenButton marketId={marketId} question={question} onOpen={() => open(marketId)} />
              <p class="facts">
                <b class={side}>
                  {shares(held)} {say(`common.${side}`)}
                </b>
                <span>
                  {wonBy(outcome)
                    ? say("market.won", { side: outcomeSaid(speaker, outcome) })
                    : outcomeSaid(speaker, outcome)}
                </span>
                <span>{say("portfolio.settledAt", { time: day(settledAt) })}</span>
                <span>{say("portfolio.paidOut", { amount: dollars(payout) })}</span>
              </p>
              <Sentences of={changesOf(speaker, settled)} />
              <OwnResult usd={payout - cost} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Why the market was voided, or each later change of its outcome. */
function changesOf(speaker: Speaker, { outcome, settledAt, reason, corrections }: Portfolio["settlements"][number]) {
  const isVoid = reason !== null && corrections.length === 0;
  const told = isVoid ? [{ from: outcome, to: outcome, at: settledAt, reason }] : corrections;
  return told.map(({ from, to, at, reason: quote }) =>
    speaker.compose<SentencePiece>(isVoid ? "end.voidedFor" : "end.corrected", {
      ...{ time: { at }, reason: { quote } },
      ...{ from: outcomeSaid(speaker, from), to: outcomeSaid(speaker, to) },
    }),
  );
}
