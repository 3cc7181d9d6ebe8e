import type { ConfigDocument, DeclaredTerms } from "../contract/resources/config-document.ts";
import { isSame, type Json } from "../domain/audit/audit-link.ts";
import { compare, type Findings } from "./plan-compare.ts";
import type { AppliedMarket, Desired, LiveConfig, PlanItem } from "./plan-types.ts";

/** Terms that traders have traded on, so a market keeps them. */
const FIXED = ["question", "kind", "closeAt"] as const;
/** Terms that have an effect only when a market is created. */
const FIRST = ["category", "p0", "resolutionRef", "meta", "liquidityUsd"] as const;

/** Markets by key: created once, suspended and resumed, and nothing else. */
export function planMarkets({ document }: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const findings: Findings = { items: [], warnings: [] };
  const byKey = new Map(live.markets.map((market) => [market.key, market]));
  for (const [key, terms] of Object.entries(document.declared)) {
    const market = byKey.get(key);
    if (!market) findings.items.push(creation(key, terms, document, live));
    else {
      findings.items.push(...conflicts(key, terms, market), ...state(key, terms, market, base));
      findings.warnings.push(...ignored(key, terms, market));
    }
  }
  for (const { key, status } of live.markets)
    if (!Object.hasOwn(document.declared, key) && status !== "settled")
      findings.warnings.push(`markets.${key} is in no file any more; the market goes on (nothing here settles it)`);
  return findings;
}

function creation(key: string, terms: DeclaredTerms, { markets }: ConfigDocument, { now }: LiveConfig): PlanItem {
  const { question, kind, closeAt, state, liquidityUsd = markets.liquidityUsd } = terms;
  const item: PlanItem = {
    field: `markets.${key}`,
    kind: "change",
    base: null,
    desired: { question, kind, closeAt: iso(closeAt), state, liquidityUsd },
    live: null,
    direction: "neutral",
  };
  if (closeAt > now) return item;
  return { ...item, kind: "conflict", problem: `it would close in the past (${iso(closeAt)}) and cannot be created` };
}

function conflicts(key: string, terms: DeclaredTerms, market: AppliedMarket): PlanItem[] {
  return FIXED.filter((term) => terms[term] !== market[term]).map((term) => ({
    field: `markets.${key}.${term}`,
    kind: "conflict",
    base: shown(term, market[term]),
    desired: shown(term, terms[term]),
    live: shown(term, market[term]),
    direction: "neutral",
    problem: `a market's ${term} never changes: put it back, or give the new market a key of its own`,
  }));
}

function state(key: string, terms: DeclaredTerms, market: AppliedMarket, base: Partial<ConfigDocument>): PlanItem[] {
  // A closed or settled market can be neither suspended nor resumed.
  if (market.status !== "open" && market.status !== "suspended") return [];
  return compare({
    field: `markets.${key}`,
    base: base.declared?.[key]?.state,
    desired: terms.state,
    live: market.status,
    adopted: base.adopted?.[`markets.${key}`],
    direction: terms.state === "open" ? "loosens" : "tightens",
  });
}

function ignored(key: string, terms: DeclaredTerms, market: AppliedMarket): string[] {
  return FIRST.filter((term) => {
    const stated = terms[term];
    return stated !== undefined && !isSame(stated, market[term]);
  }).map((term) => `markets.${key}.${term} counts only when the market is created; it stays as it was`);
}

function shown(term: string, value: string | number): Json {
  return term === "closeAt" ? iso(Number(value)) : value;
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
