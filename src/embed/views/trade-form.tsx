import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { WireResult } from "../../contract/operations.ts";
import type { FrameData } from "../../contract/resources/embed.ts";
import type { Side } from "../../domain/market/market.ts";
import { microFromUsd } from "../../domain/money.ts";
import type { Api } from "../api.ts";
import { cents, dollars, dollarsOfMicro, nameOf, shares } from "../format.ts";
import { type NoQuote, type Quote, quoteBuy, worstPrice } from "../state/quote.ts";
import type { LiveMarket } from "../state/use-market.ts";
import { type Phase, usePurchase } from "../state/use-purchase.ts";
import type { Offer, Words } from "../words.ts";
import { Problem } from "./problem.tsx";
import { QuoteLines } from "./quote-lines.tsx";

export interface TradeFormProps {
  marketId: string;
  market: LiveMarket;
  limits: FrameData["limits"];
  api: Api;
  /** USD in the wallet; undefined while that is not known. */
  balanceUsd: number | undefined;
  /** Why trading is not possible here; undefined when it is. */
  blocked: Words | undefined;
  onTrade(trade: WireResult<"placeTrade">): void;
  onOffer(offer: Offer): void;
}

const SIDES = ["yes", "no"] as const;
const CHIPS = [5, 25, 100];
const NOT_QUOTED: Record<NoQuote, (side: Side) => string> = {
  "too-small": () => "That is too little to buy a share.",
  "price-bound": () => "That would move the price too far. Try less.",
  "cannot-pay-off": (side) => `With the fee that costs more than ${nameOf(side)} can pay.`,
};

/** The steps of a purchase: side, amount, quote, confirmation and result. */
export function TradeForm({ marketId, market, limits, api, balanceUsd, blocked, onTrade, onOffer }: TradeFormProps) {
  const [side, setSide] = useState<Side>("yes");
  const [text, setText] = useState("25");
  const { phase, problem, ...flow } = usePurchase(api, onTrade);
  const buy = useRef<HTMLButtonElement>(null);

  // The request to sign in is outdated once the user has signed in.
  const isBlocked = blocked !== undefined;
  useEffect(() => flow.forgive(), [isBlocked]);

  const amount = dollarsIn(text);
  const amountMicro = text.trim() === "" ? undefined : microFromUsd(amount);
  const { quote, said } = quoteOrWhyNot(market, side, amountMicro, limits.feeBps);
  const warning = overLimit(amount, limits.maxTradeUsd, balanceUsd);
  const isBusy = phase.name === "sending" || problem?.waitSec !== undefined;

  const choose = (chosen: Side): void => {
    setSide(chosen);
    flow.edit();
  };
  const enter = (entered: string): void => {
    setText(entered);
    flow.edit();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!quote || isBusy) return;
    if (blocked) {
      flow.refuse(blocked);
      if (blocked.offer) onOffer(blocked.offer);
    } else if (phase.name === "confirm") flow.send({ marketId, side, amount, maxAvgPrice: worstPrice(quote.avgPrice) });
    else flow.ask();
  };

  if (phase.name === "done") return <Done trade={phase.trade} onAgain={flow.edit} />;
  return (
    <form class="panel" onSubmit={submit} aria-label="Trade">
      <SideChoice chosen={side} yesPrice={market.yesPrice} onChoose={choose} />
      <AmountField text={text} most={Math.min(limits.maxTradeUsd, balanceUsd ?? limits.maxTradeUsd)} onEnter={enter} />
      <QuoteLines quote={quote} side={side} said={said} />
      {warning !== undefined && <p class="warning">{warning}</p>}
      {market.live === "offline" && (
        <p class="warning">This price may be old. You buy at the current one, or not at all if it is much worse.</p>
      )}
      {problem && <Problem words={problem} onOffer={onOffer} onEnd={flow.forgive} />}
      {blocked && !blocked.offer ? (
        <p class="warning">{blocked.text}</p>
      ) : (
        <button
          ref={buy}
          type="submit"
          class={`buy ${side}`}
          disabled={!quote || isBusy}
          onClick={(event) => {
            // The second click of a double click would confirm a price that the user has not read.
            if (event.detail > 1) event.preventDefault();
          }}
        >
          {blocked ? `Sign in to buy ${nameOf(side)}` : labelOf(phase, side, quote)}
        </button>
      )}
      {phase.name === "confirm" && (
        <p class="sure">
          <span role="status">{quote && `You pay at most ${cents(worstPrice(quote.avgPrice))} a share. Sure?`}</span>
          <button
            type="button"
            class="link"
            onClick={() => {
              flow.edit();
              buy.current?.focus();
            }}
          >
            Change
          </button>
        </p>
      )}
    </form>
  );
}

/** People in much of the world write 2,50. */
function dollarsIn(text: string): number {
  return Number(text.trim().replace(",", "."));
}

/** The quote for an amount, or in words why there is none. */
function quoteOrWhyNot(
  { mechanism, pool }: LiveMarket,
  side: Side,
  amountMicro: bigint | undefined,
  feeBps: number,
): { quote?: Quote; said?: string | undefined } {
  if (amountMicro === undefined || amountMicro <= 0n) return { said: "Enter an amount in dollars." };
  const quote = quoteBuy(mechanism, pool, { side, amountMicro, feeBps });
  return typeof quote === "string" ? { said: NOT_QUOTED[quote](side) } : { quote };
}

/** The limit that the server would refuse the amount for, in words; amounts in US dollars. */
function overLimit(amount: number, maxTradeUsd: number, balanceUsd: number | undefined): string | undefined {
  if (amount > maxTradeUsd) return `A single trade may be ${dollars(maxTradeUsd)} at most.`;
  return balanceUsd !== undefined && amount > balanceUsd ? `Your wallet holds ${dollars(balanceUsd)}.` : undefined;
}

interface SideChoiceProps {
  chosen: Side;
  yesPrice: number;
  onChoose(side: Side): void;
}

function SideChoice({ chosen, yesPrice, onChoose }: SideChoiceProps) {
  const price = { yes: yesPrice, no: 1 - yesPrice };
  return (
    <fieldset class="sides">
      <legend class="hidden">What do you think?</legend>
      {SIDES.map((side) => (
        <label key={side} class={`side ${side} ${side === chosen ? "chosen" : ""}`}>
          <input type="radio" name="side" checked={side === chosen} onChange={() => onChoose(side)} />
          <span>{nameOf(side)}</span> <b>{cents(price[side])}</b>
        </label>
      ))}
    </fieldset>
  );
}

interface AmountFieldProps {
  text: string;
  /** US dollars, for the button that takes all there is. */
  most: number;
  onEnter(text: string): void;
}

function AmountField({ text, most, onEnter }: AmountFieldProps) {
  const amount = dollarsIn(text);
  return (
    <div class="amount">
      <label class="money">
        <span class="hidden">Amount in dollars</span>
        <span aria-hidden="true">$</span>
        <input
          inputMode="decimal"
          autoComplete="off"
          value={text}
          onInput={(event) => onEnter(event.currentTarget.value)}
        />
      </label>
      <div class="chips">
        {CHIPS.map((chip) => (
          <button
            key={chip}
            type="button"
            aria-label={`${chip} dollars`}
            aria-pressed={amount === chip}
            onClick={() => onEnter(String(chip))}
          >
            ${chip}
          </button>
        ))}
        <button
          type="button"
          aria-label={`Max, ${dollars(most)}`}
          onClick={() => onEnter(String(Math.floor(most * 100) / 100))}
        >
          Max
        </button>
      </div>
    </div>
  );
}

function labelOf(phase: Phase, side: Side, quote: Quote | undefined): string {
  if (phase.name === "sending") return "Buying…";
  const what = quote ? `${nameOf(side)} for ${dollarsOfMicro(quote.amountMicro)}` : nameOf(side);
  return phase.name === "confirm" ? `Confirm: buy ${what}` : `Buy ${what}`;
}

function Done({ trade, onAgain }: { trade: WireResult<"placeTrade">; onAgain(): void }) {
  const { side, shares: bought, avgPrice, amount, fee } = trade;
  const heading = useRef<HTMLHeadingElement>(null);
  // The button that had the focus is gone.
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <section class="panel done" role="status">
      <h2 ref={heading} tabIndex={-1}>
        You bought {shares(bought)} {nameOf(side)}
      </h2>
      <p>
        For <b>{dollars(amount)}</b>, {cents(avgPrice)} a share, including a fee of {dollars(fee)}. If {nameOf(side)}{" "}
        wins they pay <b>{dollars(bought)}</b>.
      </p>
      <button type="button" onClick={onAgain}>
        Trade again
      </button>
    </section>
  );
}
