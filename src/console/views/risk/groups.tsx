import type { WireResult } from "../../../contract/operations.ts";
import { decimalText, parseDecimal } from "../../../domain/decimal.ts";
import { count, price as digits, outcomeWords } from "../../format.ts";
import { CategoryLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Usd } from "../../parts/usd.tsx";
import { priceField, type Stated, type SymbolRisk, supposedAt, supposedIn, worstCase } from "./what-if.ts";

/** Markets that tend to end alike: the risks by category. */
export function Categories({ of }: { of: WireResult<"getRiskReport">["byCategory"] }) {
  return (
    <Table
      name="Categories"
      rows={of}
      id={({ category }) => category}
      empty="No market is unsettled."
      columns={[
        { title: "Category", cell: ({ category }) => <CategoryLink category={category} /> },
        { title: "Markets", isNumber: true, cell: ({ markets }) => count(markets) },
        { title: "All together can cost", isNumber: true, cell: ({ maxLiability }) => <Usd of={maxLiability} /> },
      ]}
    />
  );
}

/** Markets that one price settles: the worst price, and what a supposed price would cost. */
export function Symbols({
  of: symbols,
  stated,
  onSuppose,
}: {
  of: readonly SymbolRisk[];
  stated: Stated;
  onSuppose(feed: string, price: string): void;
}) {
  const priceOf = (feed: string): string => stated[priceField(feed)] ?? "";
  return (
    <Table
      name="Symbols"
      rows={symbols}
      id={({ feed }) => feed}
      empty="No unsettled market is settled by a price."
      columns={[
        { title: "Symbol", cell: ({ feed }) => <bdi>{feed}</bdi> },
        { title: "Markets", isNumber: true, cell: ({ risks }) => count(risks.length) },
        {
          title: "All together can cost",
          isNumber: true,
          cell: ({ risks }) => <Usd of={worstCase(risks, {}).worst} />,
        },
        {
          title: "One price can cost",
          isNumber: true,
          cell: ({ worst, worstAt }) => (
            <>
              <Usd of={worst} />
              <br />
              <small>{worstAt}</small>
            </>
          ),
        },
        {
          title: "Suppose the price",
          cell: (symbol) => (
            <Price of={symbol} price={priceOf(symbol.feed)} onSuppose={(price) => onSuppose(symbol.feed, price)} />
          ),
        },
        {
          title: "Then it costs",
          isNumber: true,
          cell: (symbol) => <CostAt of={symbol} stated={stated} />,
        },
      ]}
    />
  );
}

/** A market that is supposed to settle by itself counts so here as well, and not by the price. */
function CostAt({ of: symbol, stated }: { of: SymbolRisk; stated: Stated }) {
  const { risks, feed } = symbol;
  const price = parseDecimal(stated[priceField(feed)] ?? "");
  if (!price) return <Usd of={null} />;
  const [byPrice, supposed] = [supposedAt(risks, price), supposedIn(stated, risks, [symbol])];
  const against = risks.filter(({ marketId: id }) => supposed[id] !== byPrice[id]);
  return (
    <>
      <Usd of={worstCase(risks, supposed).supposed} />
      {against.map(({ marketId: id }) => (
        <small key={id}>
          <br />
          {id} counts as supposed: {outcomeWords(supposed[id] ?? null)}, against this price
        </small>
      ))}
    </>
  );
}

const STEPS = 200;

/** Without the noise of binary fractions. */
const tidy = (value: number): number => Number(value.toPrecision(12));

/** A slider over every strike and somewhat further, and a field for an exact price. */
function Price({
  of: { feed, strikes },
  price,
  onSuppose,
}: {
  of: SymbolRisk;
  price: string;
  onSuppose(price: string): void;
}) {
  const [low = 0, high = low] = [strikes.at(0), strikes.at(-1)].flatMap((strike) =>
    strike ? [Number(decimalText(strike))] : [],
  );
  const margin = (high - low) / 4 || Math.abs(low) / 4 || 1;
  const step = 10 ** Math.floor(Math.log10((high - low + 2 * margin) / STEPS));
  const [min, max] = [Math.floor((low - margin) / step) * step, Math.ceil((high + margin) / step) * step].map(tidy);
  return (
    <span class="ways">
      <span>
        <input
          type="range"
          aria-label={`Price of ${feed}`}
          aria-valuetext={price || "none supposed"}
          {...{ min, max, step }}
          value={price || (low + high) / 2}
          onInput={({ currentTarget }) => onSuppose(String(tidy(currentTarget.valueAsNumber)))}
        />
        <br />
        <small>
          {digits(min ?? 0)} to {digits(max ?? 0)}
        </small>
      </span>
      <input
        class="typed"
        inputMode="decimal"
        aria-label={`Exact price of ${feed}`}
        placeholder="none"
        value={price}
        onInput={({ currentTarget }) => onSuppose(currentTarget.value.trim())}
      />
    </span>
  );
}
