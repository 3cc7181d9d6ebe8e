import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "../../../src/engine/commands.ts";
import { newId } from "../../../src/services/tenant/identifiers.ts";
import type { TenantServices } from "../../../src/services/tenant/tenant.ts";
import { traderOf } from "../scene.ts";

/** Of 100: settled ones, ones that are past their closing time and wait for a person, suspended ones; the rest is open. */
const SETTLED = 10;
const CLOSED = 2;
const SUSPENDED = 1;
const UNDER_WAY = 1024;
/** Settlements have a commit each, and none may wait for longer than the queue allows. */
const SETTLING = 32;
/** Those that close do so once all are made. */
const CLOSES_AFTER_MS = 5000;
const LAST_CLOSE = Date.UTC(2040, 0, 1);

/** Names that commands are asked about. */
export interface Filled {
  open: string;
  user: string;
  trade: string;
}

/** Makes so many markets through the sequencer, many at a time, and settles, closes and suspends some of each hundred. */
export async function fillMarkets({ sequencer }: Pick<TenantServices, "sequencer">, count: number): Promise<Filled> {
  const submit = (command: Command) => sequencer.submit({ command, actor: "cli:bench" });
  const inTurns = async (
    numbers: Iterable<number>,
    work: (index: number) => Promise<unknown>,
    underWay = UNDER_WAY,
  ) => {
    const left = numbers[Symbol.iterator]();
    const worker = async () => {
      for (let next = left.next(); !next.done; next = left.next()) await work(next.value);
    };
    await Promise.all(Array.from({ length: underWay }, worker));
  };
  const now = () => performance.timeOrigin + performance.now();
  const ids = Array.from({ length: count }, () => newId("mkt", now()));
  const idOf = (index: number) => ids[index] ?? "";
  const make = (index: number, closeAt: number) =>
    submit({
      type: "createMarket",
      id: idOf(index),
      question: `Will number ${index} of the many come true?`,
      category: `bench-${index % 20}`,
      kind: index % 2 === 0 ? "cpmm" : "lmsr",
      p0Ppm: 500_000,
      closeAt,
      resolutionRef: "bench",
      meta: "{}",
      liquidityMicro: 100_000_000n,
    });
  const numbers = [...ids.keys()];
  const isClosed = (index: number) => index % 100 >= SETTLED && index % 100 < SETTLED + CLOSED;
  await inTurns(
    numbers.filter((index) => !isClosed(index)),
    (index) => make(index, LAST_CLOSE - index * 60_000),
  );
  const closeAt = Math.ceil(now()) + CLOSES_AFTER_MS;
  await inTurns(numbers.filter(isClosed), (index) => make(index, closeAt + index));
  await inTurns(
    numbers.filter((index) => index % 100 < SETTLED),
    (index) => submit({ type: "settleMarket", marketId: idOf(index), outcome: index % 2 === 0 ? "yes" : "no" }),
    SETTLING,
  );
  await inTurns(
    numbers.filter((index) => index % 100 >= 100 - SUSPENDED),
    (index) => submit({ type: "suspendMarket", marketId: idOf(index) }),
  );
  const open = idOf(numbers.find((index) => index % 100 === SETTLED + CLOSED) ?? 0);
  const trade = newId("trd", now());
  await sequencer.submit({
    command: {
      ...{ type: "placeTrade", id: trade, marketId: open, side: "yes", amountMicro: 5_000_000n },
      ...{ traderId: traderOf(0), claimedJurisdiction: undefined },
    },
    actor: `user:${traderOf(0)}`,
  });
  await delay(Math.max(0, closeAt + count - now()));
  return { open, user: traderOf(0), trade };
}
