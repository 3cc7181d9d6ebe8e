import type { PlacedMarket } from "../config/tenant-files/market-files.ts";
import type { ConfigDocument, DeclaredTerms } from "../contract/resources/config-document.ts";
import { isSame } from "../domain/audit/audit-link.ts";
import { compare, type Findings } from "./plan-compare.ts";
import type { AppliedMarket, Desired, LiveConfig, PlanItem, UnsettledMarket } from "./plan-types.ts";

/** Terms that cannot change, because traders have traded on them. */
const FIXED = ["question", "kind", "closeAt"] as const;
/** Terms that have an effect only when a market is created. */
const FIRST = ["category", "p0", "resolutionRef", "meta", "liquidityUsd"] as const;

/** A market's terms from files, with its closing time in the form of plans and of the live configuration. */
type StatedTerms = Omit<DeclaredTerms, "closeAt"> & { closeAt: string };

/** Plans markets by key: creates or takes over, renames, suspends and resumes them, and does nothing else. */
export function planMarkets(desired: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const { document } = desired;
  const findings: Findings = { items: [], warnings: [] };
  const known = knownMarkets(live);
  const met = new Set<AppliedMarket>();
  for (const [key, { closeAt, ...rest }] of Object.entries(document.declared)) {
    const terms = { ...rest, closeAt: new Date(closeAt).toISOString() };
    const { market, naming, problem } = withImport(key, findMarket(key, desired, known), desired, live);
    if (market) met.add(market);
    if (problem !== undefined)
      findings.items.push({ ...creation(key, terms, document, live), kind: "conflict", problem });
    else if (!market) findings.items.push(creation(key, terms, document, live));
    else {
      const isImported = naming?.kind === "import";
      if (naming) findings.items.push(named(key, naming));
      findings.items.push(...conflicts(key, terms, market, isImported), ...state(key, terms, market, base));
      if (!isImported) findings.warnings.push(...ignored(key, terms, market));
      findings.warnings.push(...waiting(key, terms, market, base));
    }
  }
  for (const market of live.markets)
    if (!met.has(market) && market.status !== "settled") findings.warnings.push(undeclared(market, desired));
  return findings;
}

function undeclared({ key }: AppliedMarket, { stored }: Desired): string {
  // A rollback compares with an earlier document, which knows nothing of today's files.
  if (stored) return `markets.${key} came after the apply to go back to; the market goes on`;
  return `markets.${key} is in no file; the market goes on (nothing here settles it). \`pmctl pull --markets --write\` writes one`;
}

interface KnownMarkets {
  now: ReadonlyMap<string, AppliedMarket>;
  /** By their former keys. */
  before: ReadonlyMap<string, AppliedMarket>;
}

function knownMarkets({ markets }: LiveConfig): KnownMarkets {
  return {
    now: new Map(markets.map((market) => [market.key, market])),
    before: new Map(markets.flatMap((market) => market.formerKeys.map((key) => [key, market] as const))),
  };
}

/**
 * The market that a file means by a key; none if it must be created.
 *
 * `moved` names a former key of the market. Once no market has that key, `moved` has done its work and may stay; if no
 * market ever had it, the market is created.
 */
function findMarket(
  key: string,
  { document, moved = {} }: Pick<Desired, "document" | "moved">,
  { now, before }: KnownMarkets,
): FoundMarket {
  const market = now.get(key);
  const from = moved[key];
  const source = from === undefined ? undefined : now.get(from);
  const owner = before.get(key);
  if (from === undefined || !source) {
    if (market || !owner) return { market };
    return {
      market: owner,
      problem: `this key became ${owner.key}, and no other market gets it: \`moved: ${owner.key}\` takes it back`,
    };
  }
  if (Object.hasOwn(document.declared, from))
    return { problem: `it was ${from} before, and ${from} is still declared: remove one of the two` };
  if (market) return { market, problem: `${from} and ${key} are two markets, and both go on: remove \`moved\`` };
  if (owner && owner !== source) return { problem: `this key became ${owner.key}, and no other market gets it` };
  return { market: source, naming: { kind: "move", live: from } };
}

function named(key: string, { kind, live }: NonNullable<FoundMarket["naming"]>): PlanItem {
  const base = kind === "move" ? live : null;
  return { field: `markets.${key}`, kind, base, desired: key, live, direction: "neutral" };
}

function creation(key: string, terms: StatedTerms, { markets }: ConfigDocument, { now }: LiveConfig): PlanItem {
  const { question, kind, closeAt, state, liquidityUsd = markets.liquidityUsd } = terms;
  const item: PlanItem = {
    field: `markets.${key}`,
    kind: "change",
    base: null,
    desired: { question, kind, closeAt, state, liquidityUsd },
    live: null,
    direction: "neutral",
  };
  if (Date.parse(closeAt) > Date.parse(now)) return item;
  return { ...item, kind: "conflict", problem: `it cannot be created, its close is in the past (${closeAt})` };
}

function conflicts(key: string, terms: StatedTerms, market: AppliedMarket, isImported: boolean): PlanItem[] {
  // A file that takes a market over must state its terms, or an `import` of the wrong market would go unnoticed.
  const fixed = isImported ? [...FIXED, ...FIRST] : FIXED;
  const way = isImported ? "state it as it is" : "put it back, or give the new market a key of its own";
  return differing(fixed, terms, market).map((term) => ({
    field: `markets.${key}.${term}`,
    kind: "conflict",
    base: market[term],
    desired: terms[term] ?? null,
    live: market[term],
    direction: "neutral",
    problem: `a market's ${term} never changes: ${way}`,
  }));
}

function state(key: string, terms: StatedTerms, market: AppliedMarket, base: Partial<ConfigDocument>): PlanItem[] {
  if (!canChangeState(market)) return [];
  return compare({
    field: `markets.${key}`,
    base: base.declared?.[market.key]?.state,
    desired: terms.state,
    live: market.status,
    adopted: base.adopted?.[`markets.${market.key}`],
    direction: terms.state === "open" ? "loosens" : "tightens",
  });
}

/** A market is neither suspended nor resumed once it is closed, or while a proposal to end it waits. */
export function canChangeState({ status, proposalId }: Pick<AppliedMarket, "status" | "proposalId">): boolean {
  return (status === "open" || status === "suspended") && proposalId === null;
}

/** A change of the state in the file that has to wait for a proposal. */
function waiting(
  key: string,
  { state: wanted }: StatedTerms,
  { key: known, status, proposalId }: AppliedMarket,
  { declared }: Partial<ConfigDocument>,
): string[] {
  if (proposalId === null || status !== "suspended" || wanted === status || declared?.[known]?.state === wanted)
    return [];
  return [`markets.${key} stays suspended while the proposal ${proposalId} about it waits`];
}

function ignored(key: string, terms: StatedTerms, market: AppliedMarket): string[] {
  return differing(FIRST, terms, market).map(
    (term) => `markets.${key}.${term} has an effect only when the market is created; it stays as it was`,
  );
}

/** The terms whose value in a file differs from the market's. */
function differing<Term extends (typeof FIXED | typeof FIRST)[number]>(
  among: readonly Term[],
  terms: StatedTerms,
  market: AppliedMarket,
): Term[] {
  return among.filter((term) => {
    const stated = terms[term];
    return stated !== undefined && !isSame(stated, market[term]);
  });
}

/** The market that a file means by a key. */
interface FoundMarket {
  /** Undefined if the market must be created. */
  market?: AppliedMarket | undefined;
  /** How the market gets the key; undefined if it has it. `live` is its present key or id. */
  naming?: { kind: "move" | "import"; live: string };
  problem?: string;
}

/**
 * Applies the file's `import`: the market with that id, if no market has the key yet. If the market has the key
 * already, `import` has done its work and may stay.
 */
function withImport(
  key: string,
  found: FoundMarket,
  { document, imports = {} }: Pick<Desired, "document" | "imports">,
  { markets, unkeyed = [] }: Pick<LiveConfig, "markets" | "unkeyed">,
): FoundMarket {
  const id = imports[key];
  if (id === undefined || found.problem !== undefined || found.market?.id === id) return found;
  if (found.market) return { ...found, problem: `this key is the market ${found.market.id}'s, and not ${id}'s` };
  const keyed = markets.find((market) => market.id === id);
  if (keyed && Object.hasOwn(document.declared, keyed.key))
    return { problem: `the market ${id} is ${keyed.key}, which is declared too: remove one of the two` };
  if (keyed) return { problem: `the market ${id} has the key ${keyed.key}: \`moved: ${keyed.key}\` gives it this one` };
  const market = unkeyed.find((each) => each.id === id);
  if (!market) return { problem: `the tenant has no unsettled market ${id}` };
  return { market: { ...market, key, formerKeys: [] }, naming: { kind: "import", live: id } };
}

/** A market in the form of a file: dollars, and `closeAt` in ISO 8601. */
export type PulledMarket = ReturnType<typeof asStated>;

/** The longest key. */
const MOST_CHARACTERS = 64;

/**
 * The unsettled markets that no file states, in the form of files: with the id as `import`, and with their key, or one
 * made from the question.
 * @param taken further names that no new key may have
 */
export function pulledMarkets(
  unsettled: readonly UnsettledMarket[],
  files: readonly PlacedMarket[],
  { markets }: Pick<LiveConfig, "markets">,
  taken: Iterable<string>,
): PulledMarket[] {
  const stated = new Set(files.flatMap(({ key, moved = key }) => [key, moved]));
  const imported = new Set(files.map((market) => market.import));
  const used = new Set([...taken, ...stated, ...markets.flatMap(({ key, formerKeys }) => [key, ...formerKeys])]);
  return unsettled
    .filter(({ id, key }) => !imported.has(id) && (key === null || !stated.has(key)))
    .map((market) => {
      const key = market.key ?? freeKey(market.question, used);
      used.add(key);
      return asStated(key, market);
    });
}

function asStated(key: string, { id, status, proposalId, key: _, ...terms }: UnsettledMarket) {
  // What a proposal suspended, no operator means to be so.
  const state = status === "suspended" && proposalId === null ? "suspended" : "open";
  return { key, import: id, ...terms, state };
}

/** The question in the characters of a key, with a number at the end if that key is taken. */
export function freeKey(question: string, used: ReadonlySet<string>): string {
  const plain = question.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "market";
  for (let number = 1; ; number += 1) {
    const end = number === 1 ? "" : `-${number}`;
    const key = `${slug.slice(0, MOST_CHARACTERS - end.length).replace(/-$/, "")}${end}`;
    if (!used.has(key)) return key;
  }
}
