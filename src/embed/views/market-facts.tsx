import type { FrameMarket } from "../../contract/resources/embed.ts";
import type { OutcomeShape } from "../../domain/market/outcome.ts";
import { toneOf } from "../../locales/formats.ts";
import { outcomeSaid } from "../../locales/outcome-words.ts";
import type { SourceLink } from "../../locales/source-sentence.ts";
import { useSpeech } from "../speech.ts";
import type { Portfolio } from "../state/viewer.ts";

interface FactsProps {
  market: FrameMarket;
  clarifications: FrameMarket["detail"]["clarifications"];
}

/** What decides the market: the rules as the operator wrote them, what was added to them, and the source as a sentence. */
export function Facts({ market: { detail, source = [] }, clarifications }: FactsProps) {
  const { say, exact } = useSpeech();
  const { description } = detail.meta;
  return (
    <section class="facts-below">
      {typeof description === "string" && description.trim() !== "" && (
        <>
          <h2>{say("market.rules")}</h2>
          <p data-pm="rules" class="rules" dir="auto">
            {description}
          </p>
        </>
      )}
      {clarifications.map(({ id, text, at }) => (
        <div key={id} data-pm="clarification">
          <h2>{say("market.clarified", { time: exact(at) })}</h2>
          <p class="rules" dir="auto">
            {text}
          </p>
        </div>
      ))}
      <Source pieces={source} />
    </section>
  );
}

function Source({ pieces }: { pieces: NonNullable<FrameMarket["source"]> }) {
  return (
    <p data-pm="source" class="soft small" dir="auto">
      {pieces.map((piece) => (typeof piece === "string" ? piece : <Link key={piece.href} link={piece} />))}
    </p>
  );
}

/** The linked page learns nothing about this one. */
function Link({ link: { href, text } }: { link: SourceLink }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {text}
    </a>
  );
}

/** When the market closes or has closed: day, year, time and the reader's zone. */
export function Closes({ closeAt, left }: { closeAt: string; left: number }) {
  const { say, compose, exact, duration } = useSpeech();
  const time = (
    <time data-pm="closes" dateTime={closeAt}>
      {exact(closeAt)}
    </time>
  );
  return (
    <span>
      {compose(left > 0 ? "market.closes" : "market.closed", { time })}
      {left > 0 && <span class="soft"> ({say("market.left", { duration: duration(left) })})</span>}
    </span>
  );
}

export interface ResultProps {
  outcome: OutcomeShape<number>;
  settledAt: string;
  /** The last YES price, 0 to 1, before the settlement. */
  lastPrice: number;
  /** The value that decided, where a feed gave it. */
  finalValue: string | undefined;
  portfolio: Portfolio | undefined;
  marketId: string;
}

/** How a market was settled, by what value, and the reader's result. */
export function Result({ outcome, settledAt, lastPrice, finalValue, portfolio, marketId }: ResultProps) {
  const speaker = useSpeech();
  const { say, exact, chance, decimal } = speaker;
  const own = portfolio?.settlements.filter((settled) => settled.marketId === marketId) ?? [];
  const side = outcomeSaid(speaker, outcome);
  return (
    <section class="panel" data-pm="result" role="status">
      <p>{say("market.settledSentence", { time: exact(settledAt), side })}</p>
      <p class="soft">
        {finalValue === undefined
          ? say("market.finalChance", { chance: chance(lastPrice) })
          : say("market.finalValue", { value: decimal(finalValue) })}
      </p>
      {own.length > 0 && <OwnResult usd={own.reduce((sum, { payout, cost }) => sum + payout - cost, 0)} />}
    </section>
  );
}

/** @param usd what was paid out, less what the shares had cost */
export function OwnResult({ usd }: { usd: number }) {
  const { say, dollars } = useSpeech();
  const cents = Math.round(usd * 100);
  const key = cents > 0 ? "market.youWon" : cents < 0 ? "market.youLost" : "market.youEven";
  return (
    <p>
      <b data-pm="own-result" class={toneOf(usd)}>
        {say(key, { amount: dollars(Math.abs(usd)) })}
      </b>
    </p>
  );
}
