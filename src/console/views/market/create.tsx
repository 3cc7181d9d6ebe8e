import { useRef } from "preact/hooks";
import type { Api, WireInput, WireResult } from "../../../contract/operations.ts";
import { MARKET_KINDS, MARKET_MAKERS, type MarketKind } from "../../../domain/market/market-makers.ts";
import { useDesk } from "../../desk.ts";
import { count, percent, usd } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { Chart } from "../../parts/chart.tsx";
import { Facts } from "../../parts/facts.tsx";
import type { Field, Values } from "../../parts/fields.tsx";
import { MarketLink } from "../../parts/links.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Refused } from "../../refused.ts";
import { option, pmctl } from "../../terminal-line.ts";
import { openingOf } from "./opening.ts";

const FIELDS: readonly Field[] = [
  { name: "question", label: "Question", kind: "text", hint: "Traders answer it with Yes or No." },
  { name: "category", label: "Category", kind: "text", hint: "Small letters, digits and hyphens, such as crypto." },
  {
    name: "kind",
    label: "Kind",
    kind: "choice",
    options: MARKET_KINDS.map((kind) => [kind, `${kind}, ${MARKET_MAKERS[kind].title}`] as const),
  },
  { name: "p0", label: "First price of Yes", kind: "number", hint: "0.001 to 0.999." },
  { name: "closeAt", label: "Trading ends, in your zone", kind: "time" },
  {
    name: "resolutionRef",
    label: "Decided by",
    kind: "text",
    hint: "Words for a person, or a feed's condition for the oracle, such as pm:btc > 100000.",
  },
  {
    name: "liquidity",
    label: "Liquidity in USD",
    kind: "number",
    isOptional: true,
    hint: "The most that a settlement can cost the house. Without it, the tenant's.",
  },
  { name: "key", label: "Key", kind: "text", isOptional: true, hint: "A name that no other market has." },
];

/** The button that creates a market, with what it would cost and how its price would move. */
export function CreateMarket() {
  const { tenant } = useDesk().session;
  // What was shown is what is sent, even if the tenant's liquidity changes meanwhile.
  const shownUsd = useRef<number | undefined>(undefined);
  const of: ActionOf<undefined> = {
    label: "Create market",
    thing: tenant,
    scope: "markets",
    fields: FIELDS,
    explain: (_shown, values) => (
      <Preview of={values} onLiquidity={(liquidityUsd) => (shownUsd.current = liquidityUsd)} />
    ),
    run: (api, _shown, values) => api.createMarket(inputOf(values, shownUsd.current)),
    line: (values, reason) => lineOf(tenant, values, reason),
    done: () => "Created the market. It is open for trading.",
    link: (result) => <MarketLink id={(result as WireResult<"createMarket">).id} question="See its page." />,
  };
  return <Action of={of} />;
}

function inputOf({ key = "", ...values }: Values, liquidityUsd: number | undefined): WireInput<"createMarket"> {
  const { question = "", category = "", kind, p0, closeAt = "", resolutionRef = "" } = values;
  return {
    ...{ question: question.trim(), category: category.trim(), kind: kind as MarketKind, p0: Number(p0) },
    ...{ closeAt: new Date(closeAt).toISOString(), resolutionRef: resolutionRef.trim() },
    ...(liquidityUsd !== undefined && { liquidityUsd }),
    ...(key.trim() !== "" && { key: key.trim() }),
  };
}

function lineOf(tenant: string, values: Values, reason: string): string {
  const { key, question, category, kind, p0, closeAt, resolutionRef, liquidity } = values;
  const closing = closeAt ? new Date(closeAt).toISOString() : undefined;
  return pmctl(
    ...[tenant, "market", "create", ...option("key", key), ...option("question", question?.trim())],
    ...[...option("category", category), ...option("kind", kind), ...option("p0", p0)],
    ...[...option("close-at", closing), ...option("resolution-ref", resolutionRef)],
    ...[...option("liquidity", liquidity), ...option("reason", reason)],
  );
}

interface Funds {
  liquidityUsd: number;
  treasuryUsd: number;
}

/** What the market would cost, and its price by what is spent on a side; drawn again with every change of a field. */
function Preview({ of: values, onLiquidity }: { of: Values; onLiquidity(usd: number | undefined): void }) {
  const { value: funds } = useLive(readFunds, "");
  const opening = openingOf(values, funds?.liquidityUsd);
  onLiquidity(opening?.liquidityUsd);
  if (!opening) return <p>Choose the kind and the first price to see what the market costs and how its price moves.</p>;
  const { liquidityUsd, yes, no, sample, curves } = opening;
  const left = funds && funds.treasuryUsd - liquidityUsd;
  return (
    <>
      {left !== undefined && left < 0 && (
        <p class="bad">The treasury has too little: {usd(funds?.treasuryUsd ?? 0)}.</p>
      )}
      <Facts
        of={[
          ["From the treasury", <Usd key="cost" of={liquidityUsd} />],
          ["Most that the house can lose, by Yes or No", <Usd key="most" of={liquidityUsd} />],
          ["Left in the treasury", left !== undefined && left >= 0 ? <Usd of={left} /> : ""],
          ["First price", `Yes ${percent(yes)}, No ${percent(no)}`],
          [`${usd(sample.spentUsd)} on Yes, before fees`, boughtWords(sample.yes)],
          [`${usd(sample.spentUsd)} on No, before fees`, boughtWords(sample.no)],
        ]}
      />
      <Chart
        name="Price after spending on a side, before fees"
        over="Spent"
        curves={curves}
        scale={{ y: percent, x: (dollars) => usd(dollars), covers: [0, 1] }}
      />
    </>
  );
}

function boughtWords({ shares, priceAfter }: { shares: number; priceAfter: number }): string {
  return `${count(shares)} shares, then ${percent(priceAfter)}`;
}

/** Undefined for a key that may not read the configuration. */
async function readFunds(api: Api): Promise<Funds | undefined> {
  try {
    return await api.getConfig({});
  } catch (error) {
    if (error instanceof Refused && error.code === "SCOPE_REQUIRED") return undefined;
    throw error;
  }
}
