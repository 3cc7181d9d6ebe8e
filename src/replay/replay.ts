import { createHash } from "node:crypto";
import { type ChainPoint, canonicalJson } from "../domain/audit/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import { NOTHING_HELD } from "../domain/market/holding.ts";
import { microFromDecimal } from "../domain/money.ts";
import type { Policy } from "../domain/policy/policy.ts";
import { Draft } from "../engine/draft.ts";
import { positionKey, SINGLE } from "../engine/rows.ts";
import { type Again, commandAgain } from "./again.ts";
import { applyEntry } from "./fold.ts";
import { foldFee } from "./fold-ends.ts";
import { type LoggedEntry, LoggedRows } from "./logged-rows.ts";
import { OF_APPLY } from "./recomputation.ts";
import { type ReplayFigures, Tally } from "./tally.ts";

/** The recorded commands of a window, decided again under another policy. */
export interface Replay {
  from: string;
  to: string;
  /** The number of commands decided again, trades and others. */
  commands: number;
  /** What happened, and what would have happened. */
  recorded: ReplayFigures;
  proposed: ReplayFigures;
  byCategory: { category: string; recorded: ReplayFigures; proposed: ReplayFigures }[];
  /** Trades that would have been refused, and their users. */
  refused: { trades: number; users: number; byCode: { code: string; trades: number; users: number }[] };
  /** SHA-256 of the records, the rules and all fields above except the two instants. */
  digest: string;
}

/** The rules for a replay. */
export interface ReplayTerms {
  policy: Policy;
  kycRequired: boolean;
}

/** An entry of the log with its position. */
export type PlacedEntry = LoggedEntry & ChainPoint;

interface Window {
  /** Milliseconds since the epoch, both included. */
  from: number;
  to: number;
}

/**
 * Replays a window of a log. It holds the tenant's rows twice, regardless of the log's length.
 * @param pages every entry from the first one, in order
 */
export async function replayWindow(
  pages: AsyncIterable<readonly PlacedEntry[]>,
  window: Window,
  terms: ReplayTerms,
): Promise<Replay> {
  const recorded = new LoggedRows();
  let replaying: WindowReplay | undefined;
  for await (const page of asTaken(pages))
    for (const entry of page) {
      if (entry.at > window.to) break;
      if (entry.at < window.from) applyEntry(recorded, entry);
      else {
        replaying ??= new WindowReplay(recorded, terms);
        replaying.take(entry);
      }
    }
  return (replaying ?? new WindowReplay(recorded, terms)).result(window);
}

class WindowReplay {
  readonly #terms: ReplayTerms;
  readonly #recorded: LoggedRows;
  readonly #proposed: LoggedRows;
  readonly #recordedTally: Tally;
  readonly #proposedTally: Tally;
  readonly #refused = new Map<string, { trades: number; users: Set<string> }>();
  #commands = 0;
  #first = 0n;
  #last: ChainPoint = { seq: 0n, hash: "" };

  /** @param recorded the rows at the window's start */
  constructor(recorded: LoggedRows, terms: ReplayTerms) {
    this.#terms = terms;
    this.#recorded = recorded;
    this.#proposed = recorded.copy();
    const { policy, kycRequired } = terms;
    this.#proposed.put("tenant", SINGLE, {
      ...{ policy, kycRequired, overrides: [], policyUpdatedAt: 0, document: "", version: 0 },
      // Recorded markets and capital have their own amounts.
      ...{ liquidityMicro: 0n, capitalMicro: 0n },
    });
    this.#recordedTally = new Tally(recorded);
    this.#proposedTally = new Tally(this.#proposed);
  }

  take(entry: PlacedEntry): void {
    const again = commandAgain(entry, { recorded: this.#recorded, proposed: this.#proposed });
    if (again) {
      this.#commands += 1;
      // The entry of an apply is processed before others with lower numbers.
      if (entry.seq > this.#last.seq) this.#last = { seq: entry.seq, hash: entry.hash };
      if (this.#commands === 1) this.#first = entry.seq;
      this.#decide(again, entry.at);
    }
    applyEntry(this.#recorded, entry);
    if (again) this.#count(entry);
  }

  #decide({ traderId, decide }: Again, at: number): void {
    const draft = new Draft(this.#proposed, at);
    try {
      decide(draft);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      if (traderId !== undefined) this.#refuse(fault.code, traderId);
      return;
    }
    for (const trade of draft.trades) {
      const { traderId, marketId, side, releasedMicro } = trade;
      const key = positionKey(traderId, marketId, side);
      const { sharesMicro } = this.#proposed.get("position", key) ?? NOTHING_HELD;
      const held = { traderId, marketId, side, sharesMicro };
      foldFee(this.#proposed, held, { ...trade, isSale: releasedMicro !== null });
    }
    for (const write of draft.writes()) this.#proposed.adopt(write);
    for (const trade of draft.trades) this.#proposedTally.trade(trade);
    for (const entry of draft.audit) countMarket(this.#proposedTally, entry);
  }

  #refuse(code: string, traderId: string): void {
    const refused = this.#refused.get(code) ?? { trades: 0, users: new Set() };
    refused.trades += 1;
    refused.users.add(traderId);
    this.#refused.set(code, refused);
  }

  #count(entry: LoggedEntry): void {
    if (entry.type !== "trade.executed") {
      countMarket(this.#recordedTally, entry);
      return;
    }
    const { marketId, userId: traderId, amount, fee } = entry.payload;
    const [amountMicro, feeMicro] = [microFromDecimal(amount), microFromDecimal(fee)];
    this.#recordedTally.trade({ marketId, traderId, amountMicro, feeMicro });
  }

  result({ from, to }: Window): Replay {
    const [recorded, proposed] = [this.#recordedTally, this.#proposedTally];
    const categories = [...new Set([...recorded.categories, ...proposed.categories])].sort();
    const byCode = [...this.#refused]
      .map(([code, { trades, users }]) => ({ code, trades, users: users.size }))
      .sort((a, b) => b.trades - a.trades || (a.code < b.code ? -1 : 1));
    const users = new Set([...this.#refused.values()].flatMap((each) => [...each.users]));
    const figures = {
      commands: this.#commands,
      recorded: recorded.all,
      proposed: proposed.all,
      byCategory: categories.map((category) => ({
        category,
        recorded: recorded.of(category),
        proposed: proposed.of(category),
      })),
      refused: { trades: byCode.reduce((sum, { trades }) => sum + trades, 0), users: users.size, byCode },
    };
    const record = { first: String(this.#first), last: String(this.#last.seq), hash: this.#last.hash };
    const digest = createHash("sha256")
      .update(canonicalJson({ record, terms: { ...this.#terms }, figures }))
      .digest("hex");
    return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), ...figures, digest };
  }
}

/** Counts an entry's effect on a market, apart from trades. */
function countMarket(tally: Tally, { type, payload }: { type: string; payload: object }): void {
  const given = payload as Readonly<Record<string, unknown>>;
  const micro = (field: string) => microFromDecimal(String(given[field]));
  const marketId = String(given.marketId);
  if (type === "market.created") tally.follow(marketId);
  if (type === "market.settled") tally.end(marketId, micro("houseResult"));
  if (type === "market.voided")
    tally.end(marketId, micro("toTreasury") - micro("fromTreasury") - micro("fromFees") - tally.fundOf(marketId));
  if (type === "market.corrected") tally.end(marketId, micro("takenBack") - micro("paid"));
}

/**
 * Entries in the order in which the service executed them. An apply first pays in its capital, which funds its markets.
 * But the entry that states the capital is its last entry, so it comes first here.
 * @param pages in the order of the log
 */
async function* asTaken<Entry extends LoggedEntry>(pages: AsyncIterable<readonly Entry[]>): AsyncGenerator<Entry[]> {
  const waiting: Entry[] = [];
  for await (const page of pages) {
    const ready: Entry[] = [];
    for (const entry of page) {
      const isApply = entry.type === "config.applied" && waiting.at(-1)?.at === entry.at;
      const mayBeOfApply = OF_APPLY.has(entry.type);
      if (isApply) ready.push(entry);
      if (!mayBeOfApply || waiting.at(-1)?.at !== entry.at) for (const each of waiting.splice(0)) ready.push(each);
      if (mayBeOfApply) waiting.push(entry);
      else if (!isApply) ready.push(entry);
    }
    yield ready;
  }
  yield waiting;
}
