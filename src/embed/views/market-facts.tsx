import type { FrameMarket } from "../../contract/resources/embed.ts";
import { toneOf } from "../../locales/formats.ts";
import type { SourceLink } from "../../locales/source-sentence.ts";
import { useSpeech } from "../speech.ts";
import type { Portfolio } from "../state/viewer.ts";

/** What decides the market: the rules as the operator wrote them, what was added to them, and the source as a sentence. */
export function Facts({ market: { detail, source = [] } }: { market: FrameMarket }) {
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
      {detail.clarifications.map(({ id, text, at }) => (
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
  market: FrameMarket;
  portfolio: Portfolio | undefined;
}

/** How a market ended, and the reader's result. */
export function Result({ market: { detail, ended }, portfolio }: ResultProps) {
  const own = portfolio?.settlements.filter((settled) => settled.marketId === detail.id) ?? [];
  return (
    <section class="panel" data-pm="result" role="status">
      <Sentences of={ended} />
      {own.length > 0 && <OwnResult usd={own.reduce((sum, { payout, cost }) => sum + payout - cost, 0)} />}
    </section>
  );
}

/** What the server said, with times in the reader's zone. */
export function Sentences({ of = [] }: { of: FrameMarket["ended"] }) {
  const { exact } = useSpeech();
  return (
    <>
      {of.map((pieces, index) => (
        <p key={index} data-pm="ended">
          {pieces.map((piece) => {
            if (typeof piece === "string") return piece;
            // The words of an operator may be in a language of another direction.
            return "quote" in piece ? <bdi>{piece.quote}</bdi> : <time dateTime={piece.at}>{exact(piece.at)}</time>;
          })}
        </p>
      ))}
    </>
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
