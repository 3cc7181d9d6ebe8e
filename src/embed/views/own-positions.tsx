import { toneOf } from "../../locales/formats.ts";
import { useSpeech } from "../speech.ts";
import type { Portfolio } from "../state/viewer.ts";

export type Position = Portfolio["positions"][number];

export interface OwnPositionProps {
  position: Position;
  /** USD that selling all its shares pays now, after the fee. */
  sellValue: number;
  /** The market's question, where the view around does not show it. */
  question?: string;
  /** Opens a ticket that sells; undefined where nothing can be sold. */
  onSell?: ((all: boolean) => void) | undefined;
}

/** What a user holds of one side, what selling it pays now, and the ways to sell it. */
export function OwnPosition({ position, sellValue, question, onSell }: OwnPositionProps) {
  const { say, compose, cents, dollars, shares, signed } = useSpeech();
  const { side, avgCost } = position;
  const result = sellValue - costOf(position);
  const sideName = say(`common.${side}`);
  const cashOut = say("ticket.cashOut", { amount: dollars(sellValue) });
  const nameOf = (way: string) => question && say("portfolio.sellOf", { way, side: sideName, question });
  const held = (
    <b class={side}>
      {shares(position.shares)} {sideName}
    </b>
  );
  const worth = <b data-pm="position-value">{dollars(sellValue)}</b>;
  return (
    <div class="position" data-pm="position" data-side={side}>
      <p>
        <span>{compose("ticket.holding", { held, price: cents(avgCost) })}</span>
        <span>
          {onSell ? (
            <>
              {say("ticket.sellsFor")} {worth}
            </>
          ) : (
            compose("ticket.worthIf", { amount: worth })
          )}{" "}
          <b data-pm="position-result" class={toneOf(result)}>
            {signed(result)}
          </b>
        </span>
      </p>
      {onSell && (
        <p class="ways">
          <button type="button" data-pm="sell" aria-label={nameOf(say("ticket.sell"))} onClick={() => onSell(false)}>
            {say("ticket.sell")}
          </button>
          <button type="button" data-pm="cash-out" aria-label={nameOf(cashOut)} onClick={() => onSell(true)}>
            {cashOut}
          </button>
        </p>
      )}
    </div>
  );
}

/** What the shares cost, fees included: the sale value less the result, both from the server. */
function costOf({ sellValue, sellPnl }: Position): number {
  return sellValue - sellPnl;
}
