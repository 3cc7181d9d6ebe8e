import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FrameData } from "../contract/embed.ts";
import type { WireResult } from "../contract/operations.ts";
import type { Side } from "../domain/market.ts";
import { microFromUsd } from "../domain/money.ts";
import type { Api } from "./api.ts";
import { cents, dollars, dollarsOfMicro, nameOf, shares } from "./format.ts";
import { Problem } from "./problem.tsx";
import { type Quote, quoteBuy, worstPrice } from "./quote.ts";
import { QuoteLines } from "./quote-lines.tsx";
import type { LiveMarket } from "./use-market.ts";
import { type Phase, usePurchase } from "./use-purchase.ts";
import type { Offer, Words } from "./words.ts";

export interface TradeFormProps {
  marketId: string;
  market: LiveMarket;
  limits: FrameData["limits"];
  api: Api;
  /** USD in the wallet; undefined while that is not known. */
  balanceUsd: number | undefined;
  /** Why nobody can trade here; undefined when they can. */
  blocked: Words | undefined;
  onTrade(trade: WireResult<"placeTrade">): void;
  onOffer(offer: Offer): void;
}

const SIDES = ["yes", "no"] as const;
const CHIPS = [5, 25, 100];
const NOT_QUOTED: Record<string, string> = {
  "too-small": "That is too little to buy a share.",
  "price-bound": "That would move the price too far. Try less.",
};

/** Side, amount, what it comes to, a last look, and what became of it. */
export function TradeForm({ marketId, market, limits, api, balanceUsd, blocked, onTrade, onOffer }: TradeFormProps) {
  const [side, setSide] = useState<Side>("yes");
  const [text, setText] = useState("25");
  const { phase, problem, ...flow } = usePurchase(api, onTrade);
  const buy = useRef<HTMLButtonElement>(null);

  // Whoever has signed in meanwhile need not read that they should.
  const isBlocked = blocked !== undefined;
  useEffect(() => flow.forgive(), [isBlocked]);

  const amount = Number(text.trim().replace(",", "."));
  const amountMicro = text.trim() === "" ? undefined : microFromUsd(amount);
  const most = Math.min(limits.maxTradeUsd, balanceUsd ?? limits.maxTradeUsd);
  const isAmount = amountMicro !== undefined && amountMicro > 0n;
  const quoted = isAmount
    ? quoteBuy(market.mechanism, market.pool, { side, amountMicro, feeBps: limits.feeBps })
    : undefined;
  const isHopeless = typeof quoted === "object" && quoted.payoutMicro <= quoted.amountMicro;
  const quote = typeof quoted === "object" && !isHopeless ? quoted : undefined;
  const said =
    typeof quoted === "string"
      ? NOT_QUOTED[quoted]
      : isHopeless
        ? `With the fee that costs more than ${nameOf(side)} can pay.`
        : isAmount
          ? undefined
          : "Enter an amount in dollars.";
  const warning =
    amount > limits.maxTradeUsd
      ? `A single trade may be ${dollars(limits.maxTradeUsd)} at most.`
      : balanceUsd !== undefined && amount > balanceUsd
        ? `Your wallet holds ${dollars(balanceUsd)}.`
        : undefined;
  const price = { yes: market.yesPrice, no: 1 - market.yesPrice };

  const change = (apply: () => void): void => {
    apply();
    flow.edit();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!quote || phase.name === "sending" || problem?.waitSec !== undefined) return;
    if (blocked) {
      flow.refuse(blocked);
      if (blocked.offer) onOffer(blocked.offer);
    } else if (phase.name === "confirm") flow.send({ marketId, side, amount, maxAvgPrice: worstPrice(quote.avgPrice) });
    else flow.ask();
  };

  if (phase.name === "done") return <Done trade={phase.trade} onAgain={flow.edit} />;
  return (
    <form class="panel" onSubmit={submit} aria-label="Trade">
      <fieldset class="sides">
        <legend class="hidden">What do you think?</legend>
        {SIDES.map((each) => (
          <label key={each} class={`side ${each} ${each === side ? "chosen" : ""}`}>
            <input type="radio" name="side" checked={each === side} onChange={() => change(() => setSide(each))} />
            <span>{nameOf(each)}</span> <b>{cents(price[each])}</b>
          </label>
        ))}
      </fieldset>
      <div class="amount">
        <label class="money">
          <span class="hidden">Amount in dollars</span>
          <span aria-hidden="true">$</span>
          <input
            inputMode="decimal"
            autoComplete="off"
            value={text}
            onInput={(event) => change(() => setText(event.currentTarget.value))}
          />
        </label>
        <div class="chips">
          {CHIPS.map((chip) => (
            <button
              key={chip}
              type="button"
              aria-label={`${chip} dollars`}
              aria-pressed={amount === chip}
              onClick={() => change(() => setText(String(chip)))}
            >
              ${chip}
            </button>
          ))}
          <button
            type="button"
            aria-label={`Max, ${dollars(most)}`}
            onClick={() => change(() => setText(String(Math.floor(most * 100) / 100)))}
          >
            Max
          </button>
        </div>
      </div>
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
          disabled={!quote || phase.name === "sending" || problem?.waitSec !== undefined}
          onClick={(event) => {
            // The second click of a double click would confirm what nobody has read.
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
        For <b>{dollars(amount)}</b>, {cents(avgPrice)} a share, {dollars(fee)} of it the fee. If {nameOf(side)} wins
        they pay <b>{dollars(bought)}</b>.
      </p>
      <button type="button" onClick={onAgain}>
        Trade again
      </button>
    </section>
  );
}
