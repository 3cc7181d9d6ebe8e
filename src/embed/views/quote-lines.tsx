import type { Side } from "../../domain/market/market.ts";
import { cents, chance, dollarsOfMicro, nameOf, shares } from "../format.ts";
import type { Quote } from "../state/quote.ts";

/** The quote of a purchase, line by line; or `said`, the reason why there is none. */
export function QuoteLines({ quote, side, said }: { quote: Quote | undefined; side: Side; said: string | undefined }) {
  if (!quote)
    return (
      <p class="soft" role="status">
        {said}
      </p>
    );
  const gain = Math.round((Number(quote.payoutMicro - quote.amountMicro) / Number(quote.amountMicro)) * 100);
  const after = side === "yes" ? quote.yesPriceAfter : 1 - quote.yesPriceAfter;
  const lines: [name: string, value: string][] = [
    ["You pay", dollarsOfMicro(quote.amountMicro)],
    ["Fee, included", dollarsOfMicro(quote.feeMicro)],
    ["Shares", shares(Number(quote.sharesMicro) / 1e6)],
    ["Average price", cents(quote.avgPrice)],
    [`Chance of ${nameOf(side)} after`, chance(after)],
  ];
  return (
    <dl class="quote" aria-live="polite">
      {lines.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div class="win">
        <dt>If {nameOf(side)} wins</dt>
        <dd>
          {dollarsOfMicro(quote.payoutMicro)}{" "}
          <span class={gain < 0 ? "loss" : "gain"}>
            {gain < 0 ? "−" : "+"}
            {Math.abs(gain)}%
          </span>
        </dd>
      </div>
    </dl>
  );
}
