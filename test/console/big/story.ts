import { walletOf } from "../../../src/domain/accounts.ts";
import { SYSTEM_ACTOR } from "../../../src/domain/audit/actors.ts";
import { yesPriceOf } from "../../../src/domain/market/market.ts";
import { type FeedHashes, termsOf } from "../../../src/domain/market/terms.ts";
import { DAY_MS, HOUR_MS } from "../../../src/domain/time/units.ts";
import type { Command } from "../../../src/engine/commands.ts";
import { type Position, positionKey } from "../../../src/engine/rows.ts";
import type { Submission } from "../../../src/ledger/sequencer/batch.ts";
import { newId } from "../../../src/services/tenant/identifiers.ts";
import { Random } from "../../model/random.ts";
import type { Past } from "./past.ts";

export interface Size {
  markets: number;
  users: number;
  trades: number;
}

/** The commits of each kind; the later, the closer together, so that the last day has many. */
const STEPS = 1000;
const SPAN_MS = 400 * DAY_MS;
/** Markets that are there from the beginning to the end, and in which every third trade is made: the first ones most. */
const POPULAR = 50;
/** Users who trade most, in many markets. */
const WHALES = 20;
/** Of each 200 markets: so many end, and so many wait for a person; the oracle holds the last one of these. */
const [ENDED, WAITING, SUSPENDED] = [60, 4, 2];
const CATEGORIES = ["sports", "politics", "crypto", "weather", "economy", "culture", "science", "finance"] as const;
const REGIONS = ["africa", "america", "asia", "europe", "oceania"] as const;
const PLACES = ["CH", "DE", "GB", "FR", "BR", "IN", "NG", "JP"] as const;
const USD = 1_000_000n;
const usd = (dollars: number): bigint => BigInt(dollars) * USD;

type End = "ends" | "waits" | "held" | "stays";

/** What happened on the large tenant, command by command. The same size has the same past, apart from the ids. */
export class Story {
  readonly #past: Past;
  readonly #size: Size;
  readonly #feeds: FeedHashes;
  readonly #endMs: number;
  readonly #random = new Random(33);
  /** Markets that take trades. */
  readonly #open: string[] = [];
  readonly #popular: string[] = [];
  /** By the step at which they close. */
  readonly #closing = new Map<number, { id: string; end: End }[]>();
  /** Closed at the last step, to be ended at this one. */
  #due: string[] = [];
  #users = 0;
  #markets = 0;
  #trades = 0;
  readonly #pending: { id: string; traderId: string }[] = [];
  readonly #held: Pick<Position, "traderId" | "marketId" | "side">[] = [];

  constructor(past: Past, size: Size, feeds: FeedHashes, endMs: number) {
    this.#past = past;
    this.#size = size;
    this.#feeds = feeds;
    this.#endMs = endMs;
  }

  /** @param say called now and then with what was written */
  async tell(say: (line: string) => void): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      await this.#step(step);
      if (step % 50 === 49) say(`${this.#markets} markets, ${this.#users} users, ${this.#trades} trades`);
    }
  }

  #at(step: number): number {
    return Math.floor(this.#endMs - SPAN_MS * (1 - step / STEPS) ** 2);
  }

  async #step(step: number): Promise<void> {
    const now = this.#at(step);
    const share = (total: number) => Math.floor((total * (step + 1)) / STEPS);
    const past = this.#past;
    await past.commit([...this.#due.map(endOf), ...this.#paperwork(step, now)], now, { reads: true });
    const closed = this.#closing.get(step) ?? [];
    this.#due = closed.filter(({ end }) => end === "ends").map(({ id }) => id);
    const gone = new Set(closed.map(({ id }) => id));
    if (gone.size > 0) this.#open.splice(0, Number.POSITIVE_INFINITY, ...this.#open.filter((id) => !gone.has(id)));
    const ends = [...closed.map(closingOf), ...closed.filter(({ end }) => end === "held").map(holdingOf)];
    const made = Array.from({ length: share(this.#size.markets) - this.#markets }, () => this.#newMarket(step, now));
    const suspended = this.#suspensions(made);
    const users = this.#newUsers(share(this.#size.users), now);
    const trades = Array.from({ length: share(this.#size.trades) - this.#trades }, () => this.#trade(now));
    const work = [...ends, ...made, ...suspended, ...users, ...trades];
    const traded = await past.commit(work, now, { counted: isTrade });
    this.#trades += traded;
  }

  #newMarket(step: number, now: number): { actor: string; command: Command<"createMarket"> } {
    const [number, random] = [this.#markets++, this.#random];
    const id = newId("mkt", now + number / 1e6);
    const isPopular = number < POPULAR;
    const end = isPopular ? "stays" : endAt(number % 200, step);
    const closing = random.integer(step + 2, Math.min(step + 300, STEPS - 2));
    const closeAt =
      end === "stays" ? this.#endMs + random.integer(1, 700) * DAY_MS + number * 60_000 : this.#at(closing);
    if (end !== "stays") this.#closing.set(closing, [...(this.#closing.get(closing) ?? []), { id, end }]);
    (isPopular ? this.#popular : this.#open).push(id);
    const strike = 50_000 + number;
    const resolutionRef = number % 20 === 7 && end === "stays" ? `pm:btc > ${strike}` : "as the press states it";
    const terms = termsOf({ resolutionRef, meta: {}, closeAt }, this.#feeds);
    const [region, category] = [random.pick(REGIONS), random.pick(CATEGORIES)];
    return {
      actor: "admin:ops",
      command: {
        type: "createMarket",
        ...{ id, closeAt, resolutionRef, meta: "{}", category: `${category}-${region}` },
        question: `Will number ${number} of ${category} in ${region} come true?`,
        kind: number % 2 === 0 ? "cpmm" : "lmsr",
        p0Ppm: random.integer(20, 80) * 10_000,
        liquidityMicro: isPopular ? usd(20_000) : usd(100),
        terms: terms.kind === "terms" ? terms.terms : null,
      },
    };
  }

  /** Markets that stay, of those that were made just now. */
  #suspensions(made: readonly { command: Command<"createMarket"> }[]): Submission[] {
    return made
      .filter(({ command: { closeAt } }, index) => index % 100 < SUSPENDED && closeAt > this.#endMs)
      .filter(({ command: { id } }) => this.#open.includes(id))
      .map(({ command: { id: marketId } }) => {
        this.#open.splice(this.#open.indexOf(marketId), 1);
        return { actor: "admin:ops", command: { type: "suspendMarket", marketId }, reason: "The rules are unclear" };
      });
  }

  #newUsers(upTo: number, now: number): Submission[] {
    const from = this.#users;
    this.#users = upTo;
    return Array.from({ length: upTo - from }, (_, index) => {
      const number = from + index;
      return {
        actor: "provider:payments",
        command: {
          type: "recordDeposit",
          provider: number % 3 === 0 ? "stripe" : "payments",
          traderId: userOf(number),
          amountMicro: usd(number < WHALES ? 10_000_000 : this.#random.integer(20, 900)),
          reference: `pay_${number}_${now}`,
        },
      };
    });
  }

  /** What people and providers do about users: identity checks, restrictions, withdrawals and their decisions. */
  #paperwork(step: number, now: number): Submission[] {
    if (this.#users < 100) return [];
    const some = () => userOf(this.#random.integer(WHALES, this.#users - 1));
    const work: Submission[] = Array.from({ length: 10 }, (_, index) => ({
      actor: "provider:identity",
      command: {
        type: "recordKyc",
        traderId: some(),
        status: index > 0 ? "passed" : step % 20 === 0 ? "inconclusive" : "failed",
        provider: "identity",
        verifiedAt: now - HOUR_MS,
        jurisdiction: this.#random.pick(PLACES),
      },
    }));
    if (step % 5 === 0)
      work.push({
        actor: "admin:ops",
        command: { type: "restrictUser", traderId: some(), restricted: true },
        reason: "Two accounts of one person",
      });
    for (const { id, traderId } of this.#pending.splice(0, step > STEPS - 200 ? 1 : 2))
      work.push({ actor: "admin:ops", command: { type: "decideWithdrawal", id, traderId, approve: step % 4 !== 0 } });
    for (let index = 0; index < 2; index++) {
      const [id, traderId] = [newId("wdr", now + index / 10), some()];
      if ((this.#past.row("account", walletOf(traderId))?.balanceMicro ?? 0n) < usd(15)) continue;
      this.#pending.push({ id, traderId });
      work.push({
        actor: `user:${traderId}`,
        command: { type: "requestWithdrawal", id, traderId, amountMicro: usd(15) },
      });
    }
    return work;
  }

  #trade(now: number): Submission {
    const random = this.#random;
    const sold = random.chance(0.05) ? this.#held.splice(random.integer(0, this.#held.length - 1), 1)[0] : undefined;
    const holding = sold && this.#past.row("position", positionKey(sold.traderId, sold.marketId, sold.side));
    const status = sold && this.#past.row("marketState", sold.marketId)?.status;
    const id = newId("trd", now + random.next());
    if (holding && holding.sharesMicro > USD && status === "open" && this.#takesTrades(sold.marketId, now))
      return {
        actor: `user:${sold.traderId}`,
        command: {
          type: "sellShares",
          id,
          ...sold,
          sharesMicro: holding.sharesMicro / 2n,
          claimedJurisdiction: undefined,
        },
      };
    const traderId = userOf(random.chance(0.1) ? random.integer(0, WHALES - 1) : random.integer(0, this.#users - 1));
    const marketId = this.#tradedMarket();
    const side = random.chance(this.#yesPrice(marketId)) ? "no" : "yes";
    if (this.#held.length < 20_000) this.#held.push({ traderId, marketId, side });
    const hedgeRef = {
      symbol: random.pick(["BTC", "ETH", "XAU"]),
      direction: "long",
      notional: 10_000,
      externalRef: id,
    };
    return {
      actor: `user:${traderId}`,
      command: {
        ...{ type: "placeTrade", id, traderId, marketId, side, claimedJurisdiction: undefined },
        amountMicro: usd(random.integer(1, 12)),
        ...(random.chance(0.01) ? { hedgeRef: { ...hedgeRef, direction: "long" } } : {}),
      },
    };
  }

  #takesTrades(marketId: string, now: number): boolean {
    return (this.#past.row("market", marketId)?.closeAt ?? 0) > now;
  }

  #tradedMarket(): string {
    const random = this.#random;
    // The square makes the first ones the most popular.
    if (random.chance(0.33)) return this.#popular[Math.floor(this.#popular.length * random.next() ** 3)] ?? "";
    return random.pick(this.#open);
  }

  /** Traders buy what is cheap, so that no price runs out of its bounds. */
  #yesPrice(marketId: string): number {
    const [market, state] = [this.#past.row("market", marketId), this.#past.row("marketState", marketId)];
    return market && state ? yesPriceOf(market, state) : 0.5;
  }
}

/** Ids are words of their own, so that a part of one is found in few others. */
function userOf(number: number): string {
  return `usr_${((number * 2_654_435_761) % 4_294_967_296).toString(16).padStart(8, "0")}`;
}

function endAt(place: number, step: number): End {
  if (step > STEPS - 5 || place >= ENDED + WAITING) return "stays";
  if (place < ENDED) return "ends";
  return place === ENDED + WAITING - 1 ? "held" : "waits";
}

function endOf(marketId: string, index: number): Submission {
  if (index % 40 === 39)
    return { actor: "admin:ops", command: { type: "voidMarket", marketId, reason: "The event was cancelled" } };
  const outcome = index % 2 === 0 ? "yes" : "no";
  return { actor: "admin:ops", command: { type: "settleMarket", marketId, outcome }, reason: "As the press stated it" };
}

function closingOf({ id: marketId }: { id: string }): Submission {
  return { actor: SYSTEM_ACTOR, command: { type: "closeMarket", marketId } };
}

function holdingOf({ id: marketId }: { id: string }): Submission {
  const detail = "The sources differ by 4.1 %, and 1 % is allowed";
  return { actor: SYSTEM_ACTOR, command: { type: "holdMarket", marketId, reason: "spread", detail } };
}

const isTrade = ({ command: { type } }: Submission): boolean => type === "placeTrade" || type === "sellShares";
