import type { ComponentChildren } from "preact";
import type { Side } from "../../domain/market/market.ts";
import type { MessageKey } from "../../locales/messages.ts";
import { useSpeech } from "../speech.ts";
import { type Estimate, shownResult } from "../ticket/quote.ts";

export interface QuoteLinesProps {
  /** An estimate, or what the server quoted. */
  quote: Estimate;
  side: Side;
  action: "buy" | "sell";
  /** What the bought shares would pay if sold now, in USD after the fee. */
  resaleUsd: number | undefined;
  /** The movement of the chance from which the reader is warned. */
  warnImpact: number;
}

/** What an order comes to, line by line. */
export function QuoteLines({ quote, side, action, resaleUsd, warnImpact }: QuoteLinesProps) {
  const { say, compose, cents, chance, dollars, number, shares } = useSpeech();
  const name = say(`common.${side}`);
  const of = (yesPrice: number): number => (side === "yes" ? yesPrice : 1 - yesPrice);
  const [before, after] = [of(quote.yesPriceBefore), of(quote.yesPriceAfter)];
  const isBuy = action === "buy";
  // The trade gives at least this figure.
  const result = shownResult(action, quote);
  const gain = Math.round((quote.shares / quote.amount - 1) * 100);
  return (
    <>
      <dl class="quote" aria-live="polite">
        {isBuy && <Line name="ticket.youPay">{dollars(quote.amount)}</Line>}
        <Line name={isBuy ? "ticket.feeIncluded" : "ticket.feeDeducted"}>{dollars(quote.fee)}</Line>
        <Line name="ticket.shareCount">{shares(isBuy ? result : quote.shares)}</Line>
        <Line name="ticket.avgPrice">{cents(quote.avgPrice)}</Line>
        <Line name="ticket.impact" values={{ side: name }} part="impact">
          {/* Each by itself, or a language written from the right would show them in the wrong order. */}
          {compose("ticket.fromTo", { before: <bdi>{chance(before)}</bdi>, after: <bdi>{chance(after)}</bdi> })}
        </Line>
        {resaleUsd !== undefined && <Line name="ticket.resale">{dollars(resaleUsd)}</Line>}
        {isBuy ? (
          <Line name="ticket.ifWins" values={{ side: name }} style="win">
            {dollars(result)}{" "}
            <bdi class={gain < 0 ? "loss" : "gain"}>
              {gain < 0 ? "−" : "+"}
              {number(Math.abs(gain))}%
            </bdi>
          </Line>
        ) : (
          <Line name="ticket.youGet" style="win">
            {dollars(result)}
          </Line>
        )}
      </dl>
      {Math.abs(after - before) >= warnImpact && (
        <p class="warning" data-pm="impact-warning" role="status">
          {say("ticket.impactWarning", {
            count: Math.round(Math.abs(after - before) * 100),
            side: name,
            before: chance(before),
            after: chance(after),
          })}
        </p>
      )}
    </>
  );
}

interface LineProps {
  name: MessageKey;
  values?: { side: string };
  part?: string;
  style?: string;
  children: ComponentChildren;
}

function Line({ name, values, part, style, children }: LineProps) {
  const { say } = useSpeech();
  return (
    <div class={style} data-pm={part}>
      <dt>{say(name, values)}</dt>
      <dd>{children}</dd>
    </div>
  );
}
