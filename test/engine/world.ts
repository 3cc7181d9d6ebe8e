import { walletOf } from "../../src/domain/accounts.ts";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { afterTrade, NOTHING_HELD } from "../../src/domain/market/holding.ts";
import { DEFAULT_POLICY, type Policy } from "../../src/domain/policy/policy.ts";
import { type Command, execute, type Results } from "../../src/engine/commands.ts";
import type { Draft, Reader } from "../../src/engine/draft.ts";
import { type Position, positionKey, SINGLE, type Table, type Tables, type Trader } from "../../src/engine/rows.ts";

/** The instant at which tests begin, and a closing time an hour later. */
export const NOW = 1_800_000_000_000;
export const CLOSE = NOW + 3_600_000;

export const usd = (dollars: number): bigint => BigInt(Math.round(dollars * 1e6));

/**
 * A tenant's rows in memory, as the engine reads them. Everything in it is frozen, so a command that changed the state
 * instead of describing the change would throw.
 */
export class World implements Reader {
  readonly #rows = new Map<string, Tables[Table]>();
  /** What trades add up to, from which the fees of positions follow. */
  readonly #traded = new Map<string, typeof NOTHING_HELD>();
  now = NOW;
  /** What was recorded, and when. */
  readonly log: (Draft["audit"][number] & { at: number; actor: string })[] = [];

  get<T extends Table>(table: T, key: string): Tables[T] | undefined {
    if (table === "waitingProposal")
      return this.all("proposal").find(([, each]) => each.subject === key && each.status === "pending")?.[1] as
        | Tables[T]
        | undefined;
    if (table === "stake") {
      const [marketId, traderId] = key.split("\n");
      const held = this.#holders(marketId ?? "").some((each) => each.traderId === traderId && each.sharesMicro > 0n);
      return { isHeld: held } as Tables[T];
    }
    if (table === "holders") return this.#holders(key) as unknown as Tables[T];
    if (table === "positionFee") return this.#traded.get(key) as Tables[T] | undefined;
    return this.#rows.get(`${table}/${key}`) as Tables[T] | undefined;
  }

  put<T extends Table>(table: T, key: string, row: Tables[T]): void {
    this.#rows.set(`${table}/${key}`, deepFreeze(row));
  }

  /** Decides without committing. */
  decide<C extends Command>(command: C): { result: Results[C["type"]]; draft: Draft } {
    const { result, draft } = execute(this, deepFreeze(command), this.now, this.now);
    return { result: result as Results[C["type"]], draft };
  }

  /** Decides and commits. */
  run<C extends Command>(command: C): { result: Results[C["type"]]; draft: Draft } {
    const decision = this.decide(command);
    for (const { table, key, row } of decision.draft.writes()) this.put(table, key, row);
    for (const { marketId, traderId, side, releasedMicro, ...trade } of decision.draft.trades) {
      const key = positionKey(traderId, marketId, side);
      const held = this.#traded.get(key) ?? NOTHING_HELD;
      this.#traded.set(key, afterTrade(held, { ...trade, isSale: releasedMicro !== null }));
    }
    this.log.push(...decision.draft.audit.map((entry) => ({ ...entry, at: this.now, actor: actorOf(command) })));
    return decision;
  }

  /** The code of the refusal, or "accepted". Nothing is committed. */
  refusal(command: Command): string {
    try {
      this.decide(command);
      return "accepted";
    } catch (fault) {
      if (fault instanceof Error && "code" in fault) return String(fault.code);
      throw fault;
    }
  }

  wait(ms: number): void {
    this.now += ms;
  }

  balance(account: string): bigint {
    return this.get("account", account)?.balanceMicro ?? 0n;
  }

  fund(traderId: string, dollars: number): void {
    const id = walletOf(traderId);
    this.put("account", id, { id, balanceMicro: usd(dollars), version: 1 });
  }

  /** Changes a trader's standing; by default one that may trade. */
  trader(id: string, change: Partial<Trader> = {}): void {
    const fresh: Trader = {
      id,
      kyc: "verified",
      restricted: false,
      jurisdiction: null,
      kycAt: null,
      suitabilityScore: null,
      suitabilityAt: null,
      createdAt: NOW,
      version: 1,
    };
    this.put("trader", id, { ...fresh, ...this.get("trader", id), ...change });
  }

  policy(change: Partial<Policy>): void {
    const tenant = this.get("tenant", SINGLE);
    if (!tenant) throw new Error("The tenant has not been applied yet");
    this.put("tenant", SINGLE, { ...tenant, policy: { ...tenant.policy, ...change } });
  }

  /** Every row of a table, by key. */
  all<T extends Table>(table: T): [key: string, row: Tables[T]][] {
    const prefix = `${table}/`;
    return [...this.#rows]
      .filter(([id]) => id.startsWith(prefix))
      .map(([id, row]) => [id.slice(prefix.length), row as Tables[T]]);
  }

  /** Written positions carry their trader in the key; a settlement asks for those of one market. */
  #holders(marketId: string): readonly Position[] {
    return this.all("position")
      .map(([, position]) => position)
      .filter((position) => position.marketId === marketId);
  }
}

/** A tenant with a hundred thousand dollars of capital, no fee, KYC not needed, and wide limits. */
export function openWorld(policy: Partial<Policy> = {}, sections: object = {}): World {
  const world = new World();
  const wide = { ...DEFAULT_POLICY, feeBps: 0, maxTradeUsd: 1e6, maxUserExposureUsd: 1e6, ...policy };
  world.run(configOf({ policy: wide, document: canonicalJson({ policy: wide, ...sections }) }));
  return world;
}

export function configOf(change: Partial<Command<"applyConfig">> = {}): Command<"applyConfig"> {
  const policy = change.policy ?? DEFAULT_POLICY;
  return {
    type: "applyConfig",
    policy,
    kycRequired: false,
    liquidityMicro: usd(1000),
    capitalMicro: usd(100_000),
    keys: [],
    document: canonicalJson({ policy }),
    documentSha256: "0".repeat(64),
    gitCommit: undefined,
    ...change,
  };
}

export function marketOf(change: Partial<Command<"createMarket">> = {}): Command<"createMarket"> {
  return {
    type: "createMarket",
    id: "m1",
    question: "Will it rain?",
    category: "weather",
    kind: "cpmm",
    p0Ppm: 500_000,
    closeAt: CLOSE,
    resolutionRef: "manual",
    meta: "{}",
    liquidityMicro: null,
    ...change,
  };
}

/** Who is said to have sent a command. */
export function actorOf(command: Command): string {
  if ("by" in command && command.by !== undefined) return command.by;
  return "asked" in command && command.asked ? command.asked.by : "admin:ops";
}

let trades = 0;

export function tradeOf(change: Partial<Command<"placeTrade">> = {}): Command<"placeTrade"> {
  trades += 1;
  return {
    type: "placeTrade",
    id: `t${trades}`,
    marketId: "m1",
    traderId: "ann",
    side: "yes",
    amountMicro: usd(10),
    claimedJurisdiction: undefined,
    ...change,
  };
}

export function saleOf(change: Partial<Command<"sellShares">> = {}): Command<"sellShares"> {
  trades += 1;
  return {
    type: "sellShares",
    id: `t${trades}`,
    marketId: "m1",
    traderId: "ann",
    side: "yes",
    sharesMicro: usd(10),
    claimedJurisdiction: undefined,
    ...change,
  };
}

/** Freezes what a value holds, maps included: a map's own methods are made to throw. */
export function deepFreeze<T>(value: T): T {
  if (value === null || typeof value !== "object" || Object.isFrozen(value)) return value;
  if (value instanceof Map) {
    for (const each of value.values()) deepFreeze(each);
    const refuse = () => {
      throw new TypeError("The state is not for the engine to change");
    };
    Object.assign(value, { set: refuse, delete: refuse, clear: refuse });
  } else for (const each of Object.values(value)) deepFreeze(each);
  return Object.freeze(value);
}

/** What a trader's positions in markets not settled have cost. */
export function exposureOf(world: World, traderId: string): bigint {
  return world
    .all("position")
    .filter(([, row]) => row.traderId === traderId && world.get("marketState", row.marketId)?.status !== "settled")
    .reduce((sum, [, { costMicro }]) => sum + costMicro, 0n);
}
