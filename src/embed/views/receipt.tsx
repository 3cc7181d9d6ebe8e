import { useLayoutEffect, useRef } from "preact/hooks";
import { toneOf } from "../../locales/formats.ts";
import { useSpeech } from "../speech.ts";
import type { Quoted, Trade } from "../ticket/orders.ts";
import { shownResult } from "../ticket/quote.ts";

export interface ReceiptProps {
  trade: Trade;
  /** What the user was shown before. */
  quote: Quoted;
  /** USD that selling the shares of this purchase pays now; undefined for a sale. */
  resaleUsd: number | undefined;
  /** The ticket's height, so that the page does not move when the receipt replaces the ticket. */
  minHeightPx: number;
  onAgain(): void;
}

/** The result of a trade. Only its user ever sees it. */
export function Receipt({ trade, quote, resaleUsd, minHeightPx, onAgain }: ReceiptProps) {
  const { say, cents, dollars, shares, signed } = useSpeech();
  const { side, action, avgPrice, amount, fee, realizedPnl } = trade;
  const isBuy = action === "buy";
  const [result, promised] = [shownResult(action, trade), shownResult(action, quote)];
  const values = {
    side: say(`common.${side}`),
    shares: shares(isBuy ? result : trade.shares),
    price: cents(avgPrice),
    fee: dollars(fee),
  };
  const heading = useRef<HTMLHeadingElement>(null);
  // The focused button is gone.
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <section class="panel done" data-pm="receipt" role="status" style={{ minHeight: `${minHeightPx}px` }}>
      <h2 ref={heading} tabIndex={-1}>
        {say(isBuy ? "ticket.bought" : "ticket.sold", values)}
      </h2>
      <p>
        {isBuy
          ? say("ticket.boughtFor", { ...values, amount: dollars(amount) })
          : say("ticket.soldFor", { ...values, amount: dollars(result) })}
      </p>
      {result > promised && (
        <p>
          <b class="gain">{say("ticket.better", { shown: isBuy ? shares(promised) : dollars(promised) })}</b>
        </p>
      )}
      {isBuy && (
        <p>
          {say("ticket.boughtWorth", {
            ...values,
            payout: dollars(result),
            amount: resaleUsd === undefined ? "" : dollars(resaleUsd),
          })}
        </p>
      )}
      {realizedPnl !== undefined && (
        <p>
          {say("ticket.realized")} <b class={toneOf(realizedPnl)}>{signed(realizedPnl)}</b>
        </p>
      )}
      <button type="button" data-pm="again" onClick={onAgain}>
        {say("ticket.again")}
      </button>
    </section>
  );
}
