import type { RefObject } from "preact";
import type { Side } from "../../domain/market/market.ts";
import { SIDES } from "../../domain/market/pool.ts";
import { usdFromMicro } from "../../domain/money.ts";
import { useSpeech } from "../speech.ts";
import { amountIn, amountText } from "../ticket/amount.ts";

const DOLLAR_CHIPS = [5, 25, 100];
const PERCENT_CHIPS = [25, 50];
const CENT_MICRO = 10_000n;

/** Buying or selling: a choice for those who hold shares to sell. */
export function ActionChoice({ chosen, onChoose }: { chosen: Action; onChoose(action: Action): void }) {
  const { say } = useSpeech();
  return (
    <fieldset class="actions chips">
      <legend class="hidden">{say("ticket.label")}</legend>
      {(["buy", "sell"] as const).map((action) => (
        <button key={action} type="button" aria-pressed={action === chosen} onClick={() => onChoose(action)}>
          {say(`ticket.${action}`)}
        </button>
      ))}
    </fieldset>
  );
}

type Action = "buy" | "sell";

export interface SideChoiceProps {
  chosen: Side;
  yesPrice: number;
  /** The sides that can be traded: of a sale, those that are held. */
  isOffered(side: Side): boolean;
  onChoose(side: Side): void;
}

/** Two buttons with the price of each side; a small ticket shows them alone until one is chosen. */
export function SideChoice({ chosen, yesPrice, isOffered, onChoose }: SideChoiceProps) {
  const { say, cents } = useSpeech();
  return (
    <fieldset class="sides">
      <legend class="hidden">{say("ticket.sides")}</legend>
      {SIDES.map((side) => (
        <button
          key={side}
          type="button"
          class={`side ${side} ${side === chosen ? "chosen" : ""}`}
          data-pm={`side-${side}`}
          aria-pressed={side === chosen}
          disabled={!isOffered(side)}
          onClick={() => onChoose(side)}
        >
          <span>{say(`common.${side}`)}</span> <b>{cents(side === "yes" ? yesPrice : 1 - yesPrice)}</b>
        </button>
      ))}
    </fieldset>
  );
}

/** Says how much of a large position can be sold before the price meets its bound. */
export function SellPart({ sellableMicro, heldMicro }: { sellableMicro: bigint; heldMicro: bigint }) {
  const { say, shares } = useSpeech();
  const values = { shares: shares(usdFromMicro(sellableMicro)), held: shares(usdFromMicro(heldMicro)) };
  return (
    <p class="soft" data-pm="sell-part" role="status">
      {say("ticket.sellPart", values)}
    </p>
  );
}

export interface SizeFieldProps {
  action: Action;
  text: string;
  /** The most that can be traded, millionths of dollars or shares. */
  mostMicro: bigint;
  /** While an order is on its way it cannot change. */
  isFixed: boolean;
  input: RefObject<HTMLInputElement | null>;
  onEnter(text: string): void;
}

/** The dollars to spend, or the shares to sell. */
export function SizeField({ action, text, mostMicro, isFixed, input, onEnter }: SizeFieldProps) {
  const { say, locale, dollars, wholeDollars, chance, shares } = useSpeech();
  const entered = amountIn(text, locale);
  const isBuy = action === "buy";
  const chips = isBuy
    ? DOLLAR_CHIPS.map((usd) => ({ label: wholeDollars(usd), micro: BigInt(usd) * 1_000_000n }))
    : PERCENT_CHIPS.map((each) => ({ label: chance(each / 100), micro: (mostMicro * BigInt(each)) / 100n }));
  const most = isBuy ? mostMicro - (mostMicro % CENT_MICRO) : mostMicro;
  // The language decides on which side the currency stands.
  const isAfter = !dollars(1).startsWith("$");
  const sign = isBuy && <span aria-hidden="true">$</span>;
  return (
    <div class="amount">
      <label class="money">
        <span class="hidden">{say(isBuy ? "ticket.amount" : "ticket.shareCount")}</span>
        {!isAfter && sign}
        <input
          ref={input}
          data-pm={isBuy ? "amount" : "shares"}
          inputMode="decimal"
          autoComplete="off"
          readOnly={isFixed}
          value={text}
          onInput={(event) => onEnter(event.currentTarget.value)}
        />
        {isAfter && sign}
      </label>
      <div class="chips">
        {chips.map(({ label, micro }) => (
          <button
            key={label}
            type="button"
            aria-pressed={entered === micro}
            onClick={() => onEnter(amountText(micro, locale))}
          >
            {label}
          </button>
        ))}
        <button
          type="button"
          data-pm="max"
          aria-label={say("ticket.maxOf", {
            amount: isBuy ? dollars(usdFromMicro(most)) : shares(usdFromMicro(most)),
          })}
          onClick={() => onEnter(amountText(most, locale))}
        >
          {say("ticket.max")}
        </button>
      </div>
    </div>
  );
}
