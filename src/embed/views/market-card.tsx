import type { OutcomeShape } from "../../domain/market/outcome.ts";
import { SIDES } from "../../domain/market/pool.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { outcomeSaid } from "../../locales/outcome-words.ts";
import { useSpeech } from "../speech.ts";
import type { ListedMarket } from "../state/list-pages.ts";
import type { Wish } from "../ticket/draft.ts";
import { STATES } from "./market-head.tsx";

export interface MarketCardProps {
  item: ListedMarket;
  /** The category's name for readers. */
  category: string;
  /** When the page was made, by the server's clock. */
  now: number;
  status: string;
  /** Undefined while it is unknown. */
  outcome: OutcomeShape<number> | undefined;
  yesPrice: number;
  spark: readonly number[] | undefined;
  open(marketId: string, wish?: Wish): void;
}

/** A market in a list: all of it opens the market, and each of its two sides opens it with that side chosen. */
export function MarketCard({ item, category, now, status, outcome, yesPrice, spark, open }: MarketCardProps) {
  const speaker = useSpeech();
  const { say, chance, volume, day, exact } = speaker;
  const { id, question, closeAt, volume24h } = item;
  const price = { yes: yesPrice, no: 1 - yesPrice };
  const state = STATES[status];
  const word = outcome ? say("card.result", { side: outcomeSaid(speaker, outcome) }) : state && say(`state.${state}`);
  const closes = Date.parse(closeAt) - now < DAY_MS ? exact(closeAt) : day(closeAt);
  return (
    <article class="card" data-pm="card">
      <span class="label">{category}</span>
      <OpenButton marketId={id} question={question} onOpen={() => open(id)} />
      <Sparkline prices={spark ?? []} latest={yesPrice} />
      <span class="odds">
        {SIDES.map((side) => {
          const [name, odds] = [say(`common.${side}`), chance(price[side])];
          return (
            <button
              key={side}
              type="button"
              class={side}
              data-pm={`card-${side}`}
              aria-label={say("lists.sideOf", { side: name, chance: odds, question })}
              onClick={() => open(id, { side, action: "buy" })}
            >
              <span>{name}</span> <b>{odds}</b>
            </button>
          );
        })}
      </span>
      <span class="foot">
        <span>{say("lists.today", { amount: volume(volume24h) })}</span>
        <span>{word ? <b>{word}</b> : say("card.closes", { time: closes })}</span>
      </span>
    </article>
  );
}

export interface OpenButtonProps {
  marketId: string;
  question: string;
  onOpen(): void;
}

/** The question as a heading that opens its market; its link covers the whole card. */
export function OpenButton({ marketId, question, onOpen }: OpenButtonProps) {
  return (
    <h3>
      <button type="button" class="open" data-market={marketId} onClick={onOpen}>
        <span class="question" dir="auto">
          {question}
        </span>
      </button>
    </h3>
  );
}

/** A little curve of recent prices, millionths; decoration beside a price that is stated in words. */
export function Sparkline({ prices, latest }: { prices: readonly number[]; latest: number }) {
  // One price is no curve.
  if (prices.length < 2) return null;
  const points = [...prices, Math.round(latest * 1e6)];
  const low = Math.min(...points);
  const span = Math.max(...points) - low || 1;
  const path = points
    .map((price, index) => {
      const x = (index / (points.length - 1)) * 100;
      const y = 27 - ((price - low) / span) * 24;
      return `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
  const rises = (points.at(-1) ?? 0) >= (points[0] ?? 0);
  return (
    <svg class={`spark ${rises ? "up" : "down"}`} viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true">
      <path d={path} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
