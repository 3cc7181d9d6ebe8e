import { useRef, useState } from "preact/hooks";
import type { FrameData } from "../contract/embed.ts";
import type { WireResult } from "../contract/operations.ts";
import type { Mechanism, Side } from "../domain/market.ts";
import { microFromUsd } from "../domain/money.ts";
import type { Pool } from "../domain/pool.ts";
import { Refused } from "./api.ts";
import { cents, chance, dollars, dollarsOfMicro, shares } from "./format.ts";
import { type Quote, quoteBuy } from "./quote.ts";
import { type Words, wordsFor } from "./words.ts";

export interface TradeFormProps {
  marketId: string;
  mechanism: Mechanism;
  pool: Pool;
  yesPrice: number;
  limits: FrameData["limits"];
  /** USD in the wallet; undefined while nobody is signed in. */
  balanceUsd: number | undefined;
  /** Why nobody can trade here; undefined when they can. */
  blocked: Words | undefined;
  trade(purchase: { side: Side; amount: number; maxAvgPrice: number }, key: string): Promise<WireResult<"placeTrade">>;
  onOffer(offer: NonNullable<Words["offer"]>): void;
}

const CHIPS = [5, 25, 100];
/** How much worse than the quote a price may be before the trade is called off. */
const SLIPPAGE = 0.02;
const NOT_QUOTED: Record<string, string> = {
  "too-small": "Too little to buy a share.",
  "price-bound": "That would move the price too far. Try less.",
};

type Phase =
  | { name: "edit" }
  | { name: "confirm" }
  | { name: "sending" }
  | { name: "done"; trade: WireResult<"placeTrade"> };

/** Side, amount, what it comes to, a last look, and what became of it. */
export function TradeForm(props: TradeFormProps) {
  const { mechanism, pool, yesPrice, limits, balanceUsd, blocked, trade, onOffer } = props;
  const [side, setSide] = useState<Side>("yes");
  const [text, setText] = useState("25");
  const [phase, setPhase] = useState<Phase>({ name: "edit" });
  const [problem, setProblem] = useState<Words>();
  // One key per decision to buy: a second attempt after a lost answer must not buy twice.
  const key = useRef("");

  const amount = Number(text.replace(",", "."));
  const amountMicro = text.trim() === "" ? undefined : microFromUsd(amount);
  const most = Math.min(limits.maxTradeUsd, balanceUsd ?? limits.maxTradeUsd);
  const quote =
    amountMicro !== undefined && amountMicro > 0n
      ? quoteBuy(mechanism, pool, { side, amountMicro, feeBps: limits.feeBps })
      : undefined;
  const said =
    typeof quote === "string"
      ? NOT_QUOTED[quote]
      : amountMicro === undefined
        ? "Enter an amount in dollars."
        : undefined;
  const valid = typeof quote === "object" ? quote : undefined;

  const edit = (change: () => void): void => {
    change();
    setPhase({ name: "edit" });
    setProblem(undefined);
    key.current = "";
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!valid || phase.name === "sending") return;
    if (blocked) {
      setProblem(blocked);
      if (blocked.offer) onOffer(blocked.offer);
      return;
    }
    if (phase.name !== "confirm") return setPhase({ name: "confirm" });
    setPhase({ name: "sending" });
    setProblem(undefined);
    key.current ||= crypto.randomUUID();
    try {
      const maxAvgPrice = Math.min(1, Math.ceil(valid.avgPrice * (1 + SLIPPAGE) * 1e6) / 1e6);
      setPhase({ name: "done", trade: await trade({ side, amount, maxAvgPrice }, key.current) });
      key.current = "";
    } catch (error) {
      const refused = error instanceof Refused ? error : new Refused("INTERNAL", "Something went wrong");
      setProblem(wordsFor(refused));
      setPhase({ name: "confirm" });
    }
  };

  if (phase.name === "done") {
    const { shares: bought, avgPrice, amount: paid } = phase.trade;
    return (
      <section class="panel done" aria-live="polite">
        <h2>Done</h2>
        <p>
          You bought <b>{shares(bought)}</b> {side === "yes" ? "Yes" : "No"} shares for <b>{dollars(paid)}</b>,{" "}
          {cents(avgPrice)} each. They pay {dollars(bought)} if {side === "yes" ? "Yes" : "No"} wins.
        </p>
        <button type="button" onClick={() => edit(() => {})}>
          Trade again
        </button>
      </section>
    );
  }

  const price = { yes: yesPrice, no: 1 - yesPrice };
  return (
    <form class="panel" onSubmit={submit}>
      <fieldset class="sides">
        <legend class="hidden">Side</legend>
        {(["yes", "no"] as const).map((each) => (
          <label key={each} class={`side ${each} ${each === side ? "chosen" : ""}`}>
            <input type="radio" name="side" checked={each === side} onChange={() => edit(() => setSide(each))} />
            <span>{each === "yes" ? "Yes" : "No"}</span> <b>{chance(price[each])}</b>
          </label>
        ))}
      </fieldset>
      <label class="amount">
        <span>Amount</span>
        <span class="money">
          <span aria-hidden="true">$</span>
          <input
            inputMode="decimal"
            autoComplete="off"
            aria-label="Amount in dollars"
            value={text}
            onInput={(event) => edit(() => setText(event.currentTarget.value))}
          />
        </span>
      </label>
      <div class="chips">
        {CHIPS.map((chip) => (
          <button
            key={chip}
            type="button"
            aria-label={`${chip} dollars`}
            onClick={() => edit(() => setText(String(chip)))}
          >
            ${chip}
          </button>
        ))}
        <button
          type="button"
          aria-label={`The most that is possible, ${dollars(most)}`}
          onClick={() => edit(() => setText(String(most)))}
        >
          Max
        </button>
      </div>
      <QuoteLines quote={valid} side={side} said={said} />
      {problem && <Problem words={problem} onOffer={onOffer} />}
      <button type="submit" class={`buy ${side}`} disabled={!valid || phase.name === "sending"}>
        {buttonText(phase, side, valid)}
      </button>
      {phase.name === "confirm" && (
        <button type="button" class="link" onClick={() => edit(() => {})}>
          Change
        </button>
      )}
    </form>
  );
}

function buttonText(phase: Phase, side: Side, quote: Quote | undefined): string {
  const what = `${side === "yes" ? "Yes" : "No"}${quote ? ` for ${dollarsOfMicro(quote.amountMicro)}` : ""}`;
  if (phase.name === "sending") return "Buying…";
  return phase.name === "confirm" ? `Confirm: buy ${what}` : `Buy ${what}`;
}

function QuoteLines({ quote, side, said }: { quote: Quote | undefined; side: Side; said: string | undefined }) {
  if (!quote)
    return (
      <p class="soft" aria-live="polite">
        {said ?? ""}
      </p>
    );
  const gain = Number(quote.payoutMicro - quote.amountMicro) / Number(quote.amountMicro);
  const after = side === "yes" ? quote.yesPriceAfter : 1 - quote.yesPriceAfter;
  const lines: [string, string][] = [
    ["Shares", shares(Number(quote.sharesMicro) / 1e6)],
    ["Average price", cents(quote.avgPrice)],
    ["Fee", dollarsOfMicro(quote.feeMicro)],
    ["Chance after", chance(after)],
    [
      `If ${side === "yes" ? "Yes" : "No"} wins`,
      `${dollarsOfMicro(quote.payoutMicro)} (${gain < 0 ? "−" : "+"}${Math.abs(Math.round(gain * 100))}%)`,
    ],
  ];
  return (
    <dl class="quote" aria-live="polite">
      {lines.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const OFFERS: Record<NonNullable<Words["offer"]>, string> = {
  "sign-in": "Sign in",
  deposit: "Add money",
  suitability: "Answer now",
  verify: "Verify identity",
};

export function Problem({ words, onOffer }: { words: Words; onOffer(offer: NonNullable<Words["offer"]>): void }) {
  const { text, offer } = words;
  return (
    <p class="problem" role="alert">
      {text}{" "}
      {offer && (
        <button type="button" class="link" onClick={() => onOffer(offer)}>
          {OFFERS[offer]}
        </button>
      )}
    </p>
  );
}
