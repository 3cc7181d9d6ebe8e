import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hedge } from "../../src/cli/commands/exposure.ts";
import {
  type CreditOptions,
  creditInput,
  fundingApprove,
  fundingCredit,
  fundingReject,
  runFundingList,
} from "../../src/cli/commands/funding.ts";
import { suitabilityShow, suitabilitySubmit } from "../../src/cli/commands/suitability.ts";
import { tradeBuy, tradeInput, tradeQuote, tradeSell } from "../../src/cli/commands/trade.ts";
import { userRelease, userRestrict, userShow } from "../../src/cli/commands/user.ts";
import type { Api, WireResult } from "../../src/contract/operations.ts";
import { anyMarket } from "../support/market.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { end, testIo } from "./support/io.ts";

type Run = (io: ReturnType<typeof testIo>) => Promise<void>;

/** A command as scripts run it: its exit code, and what it printed or why it was refused. */
async function json(run: Run): Promise<{ exit: number; data: Record<string, unknown> }> {
  const io = testIo({ format: "json" });
  const { exit, stdout, stderr } = await end(io, () => run(io));
  return { exit, data: JSON.parse(stdout === "" ? stderr : stdout) };
}

async function table(run: Run): Promise<string> {
  const io = testIo({ format: "table" });
  return (await end(io, () => run(io))).stdout;
}

describe.each(doors)("trading and funding through the %s door", (_name, open) => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await open();
    api = door.api();
  });
  afterAll(() => door.close());

  const newMarket = async () => (await api.createMarket(anyMarket({ kind: "lmsr" }))).id;

  const latest = async () => (await api.listAudit({ limit: 1 })).entries[0];

  test("a trade with the quote's figures as bounds executes at them or better, or is refused with 7", async () => {
    const market = await newMarket();
    await door.deposit("ann", 100);
    const ann = door.api("ann");
    const terms = { market, side: "yes", amount: 25 } as const;
    const { shares } = (await json((io) => tradeQuote.run(tradeInput(terms), ann, io))).data;
    const place = (minShares: number) => json((io) => tradeBuy.run(tradeInput({ ...terms, minShares }), ann, io));
    expect(await place(Number(shares) + 0.01)).toMatchObject({ exit: 7, data: { code: "SLIPPAGE" } });
    expect(await place(Number(shares))).toMatchObject({ exit: 0, data: { shares } });
    const sale = { market, side: "yes", shares: 10 } as const;
    const { amount, fee } = (await json((io) => tradeQuote.run(tradeInput(sale), ann, io))).data;
    const proceeds = Math.round((Number(amount) - Number(fee)) * 1e6) / 1e6;
    const sell = (minProceeds: number) => json((io) => tradeSell.run(tradeInput({ ...sale, minProceeds }), ann, io));
    expect(await sell(proceeds + 0.01)).toMatchObject({ exit: 7, data: { code: "SLIPPAGE" } });
    expect(await sell(proceeds)).toMatchObject({ exit: 0, data: { amount, fee } });
    expect(await json((io) => tradeQuote.run(tradeInput({ ...terms, minProceeds: 1 }), ann, io))).toMatchObject({
      exit: 6,
    });
  });

  test("a quote is what the trade then comes to, and --shares sells", async () => {
    const id = await newMarket();
    await door.deposit("ann", 100);
    const terms = { market: id, side: "yes", amount: 25 } as const;
    const quote = await json((io) => tradeQuote.run(tradeInput(terms), api, io));
    const placed = await json((io) => tradeBuy.run(tradeInput(terms), door.api("ann"), io));
    const { ts, yesPriceBefore, priceImpact, ...same } = quote.data;
    expect(placed.data).toMatchObject(same);
    expect(Number(quote.data.yesPriceAfter) - Number(yesPriceBefore)).toBeCloseTo(Number(priceImpact), 9);
    const sale = { market: id, side: "yes", shares: 10, user: "ann" } as const;
    expect(await json((io) => tradeQuote.run(tradeInput(sale), door.api("ann"), io))).toMatchObject({ exit: 0 });
    const sold = await json((io) => tradeSell.run(tradeInput(sale), door.api("ann"), io));
    expect(sold).toMatchObject({ exit: 0, data: { action: "sell", shares: 10 } });
    expect(await latest()).toMatchObject({ type: "trade.executed", actor: door.actor });
    expect(await table((io) => tradeSell.run(tradeInput({ ...sale, shares: 1 }), door.api("ann"), io))).toContain(
      "yes, sold",
    );
  });

  test("a quote for a user is judged as the user's, and bounds end with 7", async () => {
    const terms = { market: await newMarket(), side: "no", amount: 25 } as const;
    expect(await json((io) => tradeQuote.run(tradeInput(terms), door.api("poor"), io))).toMatchObject({
      exit: 7,
      data: { code: "INSUFFICIENT_FUNDS" },
    });
    expect(await json((io) => tradeQuote.run(tradeInput({ ...terms, maxAvgPrice: 0.5 }), api, io))).toMatchObject({
      exit: 7,
      data: { code: "SLIPPAGE" },
    });
    expect(await json((io) => tradeQuote.run(tradeInput({ ...terms, shares: 1 }), api, io))).toMatchObject({ exit: 6 });
  });

  test("an assessment for a user is recorded with the operator as actor", async () => {
    const ivy = door.api("ivy", "on the phone");
    expect((await json((io) => suitabilityShow.run({}, ivy, io))).data).toEqual({ completed: false });
    const submitted = await json((io) => suitabilitySubmit.run({ answers: { q1: 4, q2: 4, q3: 1 } }, ivy, io));
    expect(submitted.data).toEqual({ score: 9, exposureCapMinor: 250_000, passed: true });
    expect(await latest()).toMatchObject({
      type: "suitability.submitted",
      actor: door.actor,
      payload: { userId: "ivy", score: 9, reason: "on the phone" },
    });
    expect(await table((io) => suitabilityShow.run({}, ivy, io))).toContain("2500.00");
    expect(await json((io) => suitabilitySubmit.run({ answers: { q1: 9 } }, ivy, io))).toMatchObject({ exit: 6 });
  });

  test("a user is shown, restricted and released", async () => {
    await door.deposit("lea", 10);
    const reasoned = door.api(undefined, "chargebacks");
    expect(await json((io) => userRestrict.run({ id: "lea" }, reasoned, io))).toEqual({
      exit: 0,
      data: { userId: "lea", state: "restricted" },
    });
    expect(await latest()).toMatchObject({
      type: "user.restricted",
      actor: door.actor,
      payload: { userId: "lea", reason: "chargebacks" },
    });
    expect((await json((io) => userShow.run({ id: "lea" }, api, io))).data).toMatchObject({ balanceUsd: 10 });
    expect(await table((io) => userShow.run({ id: "lea" }, api, io))).toContain("restricted (identity: unverified)");
    await json((io) => userRelease.run({ id: "lea" }, api, io));
    expect((await json((io) => userShow.run({ id: "lea" }, api, io))).data).toMatchObject({ state: "unverified" });
    expect(await json((io) => userShow.run({ id: "a/b" }, api, io))).toMatchObject({ exit: 5 });
  });

  test("withdrawals are listed and decided; credits want a reason", async () => {
    await door.deposit("wim", 100);
    const ids = [];
    for (const amount of [10, 20]) ids.push((await door.api("wim").requestWithdrawal({ amount })).withdrawalId);
    const [first = "", second = ""] = ids;
    const listed = await json((io) => runFundingList({ status: "pending" }, api, io));
    const pending = listed.data as unknown as WireResult<"approveWithdrawal">[];
    expect(pending.map(({ withdrawalId }) => withdrawalId)).toEqual([second, first]);
    const unsure = testIo({ answers: [false] });
    expect(await end(unsure, () => fundingApprove.run({ id: first }, api, unsure, true))).toMatchObject({ exit: 3 });
    expect(unsure.questions).toEqual(["10.00 USD of wim: send the money out?"]);
    expect(await json((io) => fundingApprove.run({ id: first }, api, io))).toMatchObject({
      exit: 0,
      data: { status: "approved" },
    });
    expect(await json((io) => fundingReject.run({ id: first }, api, io))).toMatchObject({
      exit: 7,
      data: { code: "WITHDRAWAL_DECIDED" },
    });
    await json((io) => fundingReject.run({ id: second }, api, io));
    const credit: CreditOptions = { user: "wim", amount: 5 };
    expect(await json(async (io) => fundingCredit.run(creditInput(credit), api, io))).toMatchObject({
      exit: 6,
      data: { code: "USAGE" },
    });
    const reasoned = { ...credit, reason: "goodwill" };
    expect((await json((io) => fundingCredit.run(creditInput(reasoned), api, io))).data).toMatchObject({
      balanceUsd: 95,
    });
    expect(await table((io) => runFundingList({}, api, io))).toContain("rejected");
  });

  test("the hedge book is the interface's, and reads as dollars", async () => {
    const id = await newMarket();
    await door.deposit("han", 100);
    const hedgeRef = { symbol: "BTC", direction: "long", notional: 12_345, externalRef: "p" } as const;
    await door.api("han").placeOrder({ marketId: id, selection: { outcome: 1 }, amount: 20, hedgeRef });
    const { data } = await json((io) => hedge.run({}, api, io));
    expect(data).toMatchObject({ hedgeBook: [{ symbol: "BTC", openTrades: 1, activeCostMinor: 2000 }] });
    expect(await table((io) => hedge.run({}, api, io))).toContain("123.45");
  });
});
