import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  fundingApprove,
  fundingCredit,
  fundingList,
  fundingReject,
  inputByHand,
} from "../../src/cli/commands/funding.ts";
import { tradeBuy, tradeInput, tradeQuote, tradeSell } from "../../src/cli/commands/trade.ts";
import { userRelease, userRestrict, userShow } from "../../src/cli/commands/user.ts";
import { askReason } from "../../src/cli/input/prompts.ts";
import type { Api, WireResult } from "../../src/contract/operations.ts";
import { anyMarket } from "../support/market.ts";
import { openHttpDoor, type TestDoor } from "./support/doors.ts";
import { end, type Run, runJson, testIo } from "./support/io.ts";

async function table(run: Run): Promise<string> {
  const io = testIo({ format: "table" });
  return (await end(io, () => run(io))).stdout;
}

test("a terminal is asked for the reason that a line lacks; without one, or with --yes, the option is named", async () => {
  const io = testIo({ answers: ["the user called"] });
  expect(await askReason({}, io.prompts, "The decision")).toBe("the user called");
  expect(io.questions).toEqual(["The decision needs a reason in the audit log"]);
  expect(await askReason({ reason: "known" }, io.prompts, "It")).toBe("known");
  await expect(askReason({ yes: true }, io.prompts, "It")).rejects.toThrow("add --reason");
  await expect(askReason({}, testIo().prompts, "It")).rejects.toThrow("add --reason");
});

describe("trading and funding", () => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await openHttpDoor();
    api = door.api();
  });
  afterAll(() => door.close());

  const newMarket = async () => (await api.createMarket(anyMarket({ kind: "lmsr" }))).id;

  test("a quote is what the trade comes to: with its figures as bounds that executes, beyond them it is refused", async () => {
    const market = await newMarket();
    await door.deposit("ann", 100);
    const ann = door.api("ann");
    const quoted = (terms: Parameters<typeof tradeInput>[0]) =>
      runJson((io) => tradeQuote.run(tradeInput(terms), ann, io));
    const terms = { market, side: "yes", amount: 25 } as const;
    const { data: quote } = await quoted(terms);
    const { shares, ts: _, yesPriceBefore, priceImpact, ...same } = quote;
    expect(Number(quote.yesPriceAfter) - Number(yesPriceBefore)).toBeCloseTo(Number(priceImpact), 9);
    const buy = (minShares: number) => runJson((io) => tradeBuy.run(tradeInput({ ...terms, minShares }), ann, io));
    expect(await buy(Number(shares) + 0.01)).toMatchObject({ exit: 7, data: { code: "SLIPPAGE" } });
    expect(await buy(Number(shares))).toMatchObject({ exit: 0, data: { shares, ...same } });
    const sale = { market, side: "yes", shares: 10 } as const;
    const { amount, fee } = (await quoted(sale)).data;
    const proceeds = Math.round((Number(amount) - Number(fee)) * 1e6) / 1e6;
    const sell = (minProceeds: number) => runJson((io) => tradeSell.run(tradeInput({ ...sale, minProceeds }), ann, io));
    expect(await sell(proceeds + 0.01)).toMatchObject({ exit: 7, data: { code: "SLIPPAGE" } });
    expect(await sell(proceeds)).toMatchObject({ exit: 0, data: { action: "sell", amount, fee } });
    expect(await table((io) => tradeSell.run(tradeInput({ ...sale, shares: 1 }), ann, io))).toContain("yes, sold");
    for (const wrong of [{ minProceeds: 1 }, { shares: 1 }])
      expect(await quoted({ ...terms, ...wrong })).toMatchObject({ exit: 6 });
  });

  test("a user is shown, restricted and released", async () => {
    await door.deposit("lea", 10);
    const shown = async () => (await runJson((io) => userShow.run({ id: "lea" }, api, io))).data;
    const restricted = await runJson((io) => userRestrict.run({ id: "lea" }, api, io));
    expect(restricted.data).toEqual({ userId: "lea", state: "restricted" });
    expect(await shown()).toMatchObject({ balanceUsd: 10 });
    expect(await table((io) => userShow.run({ id: "lea" }, api, io))).toContain("restricted (identity: unverified)");
    await runJson((io) => userRelease.run({ id: "lea" }, api, io));
    expect(await shown()).toMatchObject({ state: "unverified" });
    expect(await runJson((io) => userShow.run({ id: "a/b" }, api, io))).toMatchObject({ exit: 5 });
  });

  test("withdrawals are listed and decided; credits want a reason", async () => {
    await door.deposit("wim", 100);
    const ids = [];
    for (const amount of [10, 20]) ids.push((await door.api("wim").requestWithdrawal({ amount })).withdrawalId);
    const [first = "", second = ""] = ids;
    const listed = await runJson((io) => fundingList.run({ status: "pending" }, api, io));
    const pending = listed.data as unknown as WireResult<"approveWithdrawal">[];
    expect(pending.map(({ withdrawalId }) => withdrawalId)).toEqual([second, first]);
    const unsure = testIo({ answers: [false] });
    expect(await end(unsure, () => fundingApprove.run({ id: first }, api, unsure, true))).toMatchObject({ exit: 3 });
    expect(unsure.questions).toEqual(["10.00 USD of wim: send the money out?"]);
    await runJson((io) => userRestrict.run({ id: "wim" }, door.api(undefined, "stolen card"), io));
    const warned = testIo({ answers: [false] });
    await end(warned, () => fundingApprove.run({ id: first }, api, warned, true));
    expect(warned.questions[0]).toMatch(
      /wim\W* is restricted since 2\S+Z: \W*stolen card\W*\. 10\.00 USD of wim: send/,
    );
    const approved = await runJson((io) => fundingApprove.run({ id: first }, api, io));
    expect(approved).toMatchObject({ exit: 0, data: { status: "approved" } });
    const late = await runJson((io) => fundingReject.run({ id: first }, api, io));
    expect(late).toMatchObject({ exit: 7, data: { code: "WITHDRAWAL_DECIDED" } });
    await runJson((io) => fundingReject.run({ id: second }, api, io));
    const credit = { user: "wim", amount: 5 };
    expect(() => inputByHand(credit, "credit")).toThrow("add --reason");
    const input = inputByHand({ ...credit, reason: "goodwill" }, "credit");
    expect((await runJson((io) => fundingCredit.run(input, api, io))).data).toMatchObject({ balanceUsd: 95 });
    expect(await table((io) => fundingList.run({}, api, io))).toContain("rejected");
  });
});
