import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PaymentFact } from "../../src/engine/payments.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant();
});
afterAll(() => tenant.close());

const latest = async (limit = 1) => (await tenant.api().listAudit({ limit })).entries[0];

describe("withdrawals", () => {
  test("take the money out of the balance at once, and an approval sends it away", async () => {
    await tenant.deposit("ann", 100);
    const api = tenant.api("ann");
    const asked = await api.requestWithdrawal({ amount: 30 });
    expect(asked).toEqual({
      withdrawalId: expect.stringMatching(/^wdr_/),
      status: "pending",
      amount: 30,
      createdAt: expect.any(String),
    });
    expect(await api.getWallet({})).toEqual({ balanceUsd: 70, exposureUsd: 0, pendingWithdrawalsUsd: 30, owedUsd: 0 });
    const { withdrawalId } = asked;
    const approved = await tenant.api().approveWithdrawal({ id: withdrawalId });
    expect(approved).toEqual({ ...asked, status: "approved", userId: "ann" });
    expect(await api.getWallet({})).toEqual({ balanceUsd: 70, exposureUsd: 0, pendingWithdrawalsUsd: 0, owedUsd: 0 });
    expect(await latest()).toMatchObject({
      type: "withdrawal.approved",
      actor: "admin:ops",
      payload: { withdrawalId, userId: "ann", amount: "30" },
    });
    expect(await tenant.faults()).toEqual([]);
  });

  test("a rejection gives the money back; either decision twice changes nothing, and the other one is refused", async () => {
    await tenant.deposit("bob", 10);
    const api = tenant.api("bob");
    const { withdrawalId: id } = await api.requestWithdrawal({ amount: 10 });
    expect(await tenant.api().rejectWithdrawal({ id })).toMatchObject({ status: "rejected" });
    const head = await tenant.sql`select seq from head`;
    expect(await tenant.api().rejectWithdrawal({ id })).toMatchObject({ status: "rejected" });
    await expect(tenant.api().approveWithdrawal({ id })).rejects.toMatchObject({ code: "WITHDRAWAL_DECIDED" });
    expect(await tenant.sql`select seq from head`).toEqual(head);
    expect((await api.getWallet({})).balanceUsd).toBe(10);
    expect(await tenant.faults()).toEqual([]);
  });

  test("two decisions at once: one takes effect", async () => {
    await tenant.deposit("cat", 50);
    const { withdrawalId: id } = await tenant.api("cat").requestWithdrawal({ amount: 50 });
    const outcomes = await Promise.allSettled([
      tenant.api().approveWithdrawal({ id }),
      tenant.api().rejectWithdrawal({ id }),
    ]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await tenant.faults()).toEqual([]);
  });

  test("of more than there is, of a restricted user, or of an unknown one are refused", async () => {
    await tenant.deposit("dan", 5);
    const api = tenant.api("dan");
    await expect(api.requestWithdrawal({ amount: 5.000001 })).rejects.toMatchObject({ code: "INSUFFICIENT_FUNDS" });
    await tenant.api().restrictUser({ id: "dan" });
    await expect(api.requestWithdrawal({ amount: 1 })).rejects.toMatchObject({ code: "ACCOUNT_RESTRICTED" });
    await expect(tenant.api().approveWithdrawal({ id: "wdr_none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("the list filters by status and pages, newest first", async () => {
    await tenant.deposit("eve", 100);
    const ids: string[] = [];
    for (let amount = 1; amount <= 3; amount++)
      ids.unshift((await tenant.api("eve").requestWithdrawal({ amount })).withdrawalId);
    const first = await tenant.api().listWithdrawals({ status: "pending", limit: 2 });
    const rest = await tenant.api().listWithdrawals({ status: "pending", limit: 2, cursor: first.nextCursor ?? "" });
    expect([...first.items, ...rest.items].map(({ withdrawalId }) => withdrawalId)).toEqual(ids);
    expect(rest.nextCursor).toBeNull();
  });

  test("money that is missing from the pending account is found", async () => {
    await tenant.sql`update account set balance_micro = balance_micro - 1 where id = 'pending:eve'`;
    expect(await tenant.faults()).toEqual(["accounts"]);
    await tenant.sql`update account set balance_micro = balance_micro + 1 where id = 'pending:eve'`;
  });
});

describe("a credit by hand", () => {
  test("names who and why, and creates the user", async () => {
    const credited = await tenant.api().creditWallet({ id: "new one", amount: 12.5, reason: "goodwill" });
    expect(credited).toMatchObject({ userId: "new one", amount: 12.5, balanceUsd: 12.5 });
    expect(await latest()).toMatchObject({
      type: "wallet.credited",
      actor: "admin:ops",
      payload: { userId: "new one", amount: "12.5", provider: "operator", reason: "goodwill" },
    });
    expect(await tenant.api().getUser({ id: "new one" })).toMatchObject({ state: "unverified", balanceUsd: 12.5 });
  });

  test("takes the reason of the command line too, and none is refused", async () => {
    await tenant.api(undefined, "by phone").creditWallet({ id: "fay", amount: 1 });
    expect((await latest())?.payload).toMatchObject({ reason: "by phone" });
    for (const [reason, message] of [
      [undefined, "reason: is required"],
      ["  ", "reason: must not be blank"],
    ])
      await expect(tenant.api().creditWallet({ id: "fay", amount: 1, reason })).rejects.toMatchObject({
        code: "BAD_REQUEST",
        message,
      });
  });
});

describe("a debit by hand", () => {
  test("takes back what the wallet holds, with its reason on record and in the books", async () => {
    await tenant.api().creditWallet({ id: "ida", amount: 900, reason: "goodwill" });
    const debit = (amount: number, reason?: string) => tenant.api().debitWallet({ id: "ida", amount, reason });
    await expect(debit(901, "a slip")).rejects.toMatchObject({ code: "INSUFFICIENT_FUNDS" });
    await expect(debit(1)).rejects.toMatchObject({ code: "BAD_REQUEST" });
    expect(await debit(890, "a slip")).toMatchObject({ userId: "ida", amount: 890, balanceUsd: 10 });
    expect(await latest()).toMatchObject({
      type: "wallet.debited",
      actor: "admin:ops",
      payload: { userId: "ida", amount: "890", reason: "a slip" },
    });
    expect((await tenant.api("ida").listStatement({})).items[0]).toMatchObject({ amount: -890, balance: 10 });
    expect(await tenant.faults()).toEqual([]);
    await expect(tenant.api().creditWallet({ id: "ida", amount: 1000.01, reason: "too much" })).rejects.toMatchObject({
      code: "MAX_CREDIT_EXCEEDED",
    });
  });
});

describe("the statement", () => {
  test("explains every cent: each balance is the one before plus the amount", async () => {
    const marketId = await tenant.market();
    const api = tenant.api("gil");
    await tenant.deposit("gil", 500);
    const { tradeId } = await api.placeTrade({ marketId, selection: { side: "yes" }, amount: 100 });
    await api.placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares: 20 });
    const { withdrawalId } = await api.requestWithdrawal({ amount: 40 });
    await tenant.api().rejectWithdrawal({ id: withdrawalId });
    await api.requestWithdrawal({ amount: 10 });
    await tenant.api().creditWallet({ id: "gil", amount: 3, reason: "goodwill" });
    await tenant.api().settleMarket({ marketId, outcome: "yes" });
    // Other people's money is none of this statement's.
    await tenant.deposit("hal", 77);

    const { items, nextCursor } = await api.listStatement({});
    expect(nextCursor).toBeNull();
    expect(items.map(({ type }) => type)).toEqual([
      "market.settled",
      "wallet.credited",
      "withdrawal.requested",
      "withdrawal.rejected",
      "withdrawal.requested",
      "trade.executed",
      "trade.executed",
      "wallet.credited",
    ]);
    expect(items.at(-2)).toMatchObject({ tradeId, marketId, amount: -100, balance: 400 });
    expect(items[0]?.balance).toBe((await api.getWallet({})).balanceUsd);
    const oldestFirst = items.toReversed();
    oldestFirst.forEach((entry, index) => {
      const before = oldestFirst[index - 1]?.balance ?? 0;
      expect(entry.balance).toBeCloseTo(before + entry.amount, 6);
    });

    const paged: typeof items = [];
    for (let cursor: string | undefined; ; ) {
      const page = await api.listStatement({ limit: 3, cursor });
      paged.push(...page.items);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(items);
  });

  test("of a user without money is empty, and a forged cursor is refused", async () => {
    expect(await tenant.api("nobody").listStatement({})).toEqual({ items: [], nextCursor: null });
    const cursor = Buffer.from('[1,"x"]').toString("base64url");
    await expect(tenant.api("gil").listStatement({ cursor })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  test("is read by index: neither trades nor transfers are scanned", async () => {
    const { sql } = tenant;
    const plan = await sql.begin(async (tx) => {
      await tx`set local enable_seqscan = off`;
      return tx`
        explain select seq, amount_micro from transfer
         where debit = 'wallet:gil' and debit like 'wallet:%' and credit not like 'escrow:%' and credit <> 'fees'
         order by seq desc limit 50`;
    });
    expect(plan.map((row) => row["QUERY PLAN"]).join("\n")).toContain("transfer_out_of_wallet");
  });
});

describe("suitability", () => {
  test("nothing submitted is not completed; a submission counts at once, and the last one counts", async () => {
    const marketId = await tenant.market();
    await tenant.deposit("ida", 5000);
    const api = tenant.api("ida");
    expect(await api.getSuitability({})).toEqual({ completed: false });
    const first = await api.submitSuitability({ answers: { horizon: 4, loss: 4, __proto__x: 0 } });
    expect(first).toEqual({ score: 8, exposureCapMinor: 50_000, passed: true });
    const trade = (amount: number) => api.placeTrade({ marketId, selection: { side: "yes" }, amount });
    await expect(trade(500.01)).rejects.toMatchObject({ code: "EXPOSURE_EXCEEDED" });
    expect(await api.submitSuitability({ answers: { a: 4, b: 4, c: 4, d: 4, e: 4 } })).toEqual({
      score: 20,
      exposureCapMinor: 9007199254740991,
      passed: true,
    });
    await trade(500.01);
    expect(await api.getSuitability({})).toMatchObject({ completed: true, score: 20 });
    const kept = await tenant.sql`select answers, score from assessment where trader_id = 'ida' order by id`;
    expect(kept.map(({ score }) => score)).toEqual([8, 20]);
    expect(await latest()).toMatchObject({ type: "trade.executed" });
    const { entries } = await tenant.api().listAudit({ type: "suitability.submitted" });
    expect(entries[0]?.payload).toMatchObject({ userId: "ida", score: 20, passed: true, answers: { a: 4 } });
  });

  test("thresholds are those of the policy in force: a score that was enough may not be any more", async () => {
    const marketId = await tenant.market();
    await tenant.deposit("jon", 100);
    const api = tenant.api("jon");
    await tenant.api().updatePolicy({ suitabilityRequired: true });
    const trade = () => api.placeTrade({ marketId, selection: { side: "no" }, amount: 1 });
    await expect(trade()).rejects.toMatchObject({ code: "SUITABILITY_REQUIRED" });
    await api.submitSuitability({ answers: { a: 3 } });
    await trade();
    await tenant.api().updatePolicy({ suitabilityThresholds: { blockBelow: 4, tiers: [{ minScore: 0, capUsd: 7 }] } });
    expect(await api.getSuitability({})).toMatchObject({ score: 3, exposureCapMinor: 700 });
    await expect(trade()).rejects.toMatchObject({ code: "SUITABILITY_REQUIRED" });
    expect(await api.submitSuitability({ answers: { a: 3 } })).toMatchObject({ passed: false });
    await expect(trade()).rejects.toMatchObject({ code: "SUITABILITY_REQUIRED" });
    expect(await api.submitSuitability({ answers: { a: 4 } })).toMatchObject({ passed: true });
    await trade();
  });

  test.each([[{}], [{ a: 5 }], [{ a: 1.5 }], [{ a: -1 }], [{ a: "4" }], [{ a: 0, b: 0, c: 0, d: 0, e: 0, f: 0 }]])(
    "%j is refused",
    async (answers) => {
      await expect(tenant.api("kim").submitSuitability({ answers } as never)).rejects.toMatchObject({
        code: "BAD_REQUEST",
      });
    },
  );
});

describe("a restriction", () => {
  test("stops trading until it is released, is shown in place of the KYC state, and is recorded with that state", async () => {
    const marketId = await tenant.market();
    await tenant.deposit("lea", 100);
    await tenant.api("lea").submitSuitability({ answers: { a: 4 } });
    const trade = () => tenant.api("lea").placeTrade({ marketId, selection: { side: "yes" }, amount: 1 });
    expect(await tenant.api().restrictUser({ id: "lea" })).toEqual({ userId: "lea", state: "restricted" });
    expect(await latest()).toMatchObject({
      type: "user.restricted",
      payload: { userId: "lea", restricted: true, state: "restricted" },
    });
    await expect(trade()).rejects.toMatchObject({ code: "ACCOUNT_RESTRICTED" });
    expect(await tenant.api().getUser({ id: "lea" })).toMatchObject({ state: "restricted", kyc: "unverified" });
    const head = await tenant.sql`select seq from head`;
    await tenant.api().restrictUser({ id: "lea" });
    expect(await tenant.sql`select seq from head`).toEqual(head);
    await tenant.api(undefined, "the second complaint").restrictUser({ id: "lea" });
    expect(await latest()).toMatchObject({ type: "user.restricted", payload: { reason: "the second complaint" } });
    expect(await tenant.api().releaseUser({ id: "lea" })).toEqual({ userId: "lea", state: "unverified" });
    expect(await latest()).toMatchObject({ type: "user.restricted", payload: { restricted: false } });
    await trade();
  });

  test("can come before its user; what was never there cannot be released or shown", async () => {
    await tenant.api().restrictUser({ id: "early" });
    expect(await tenant.api().getUser({ id: "early" })).toMatchObject({ state: "restricted" });
    const [release, show] = [() => tenant.api().releaseUser({ id: "x" }), () => tenant.api().getUser({ id: "x" })];
    for (const call of [release, show])
      await expect(call()).rejects.toMatchObject({ code: "NOT_FOUND", message: "User not found" });
  });
});

describe("what a user owes", () => {
  test("is on every read of its money, and its statement has a line for what it came from and what repaid it", async () => {
    const { sequencer } = tenant.processes[0] ?? {};
    const pay = (fact: PaymentFact) =>
      sequencer?.submit({
        command: { type: "recordPayment", provider: "stripe", reference: "pi_owed", ownerId: "ole", fact },
        actor: "provider:stripe",
      });
    const api = tenant.api("ole");
    await sequencer?.submit({
      command: {
        type: "recordPayment",
        ...{ provider: "stripe", reference: "pi_owed", ownerId: undefined },
        fact: { kind: "paid", traderId: "ole", amountMicro: 50_000_000n, received: true },
      },
      actor: "provider:stripe",
    });
    await api.requestWithdrawal({ amount: 40 });
    await pay({ kind: "refund", refunds: [{ id: "re_1", amountMicro: 50_000_000n, failed: false }] });
    expect(await api.getWallet({})).toMatchObject({ balanceUsd: 0, owedUsd: 40 });
    expect((await api.getPortfolio({})).wallet).toMatchObject({ owedUsd: 40 });
    const admin = tenant.api();
    expect(await admin.getUser({ id: "ole" })).toMatchObject({ owedUsd: 40 });
    expect((await admin.listUsers({ q: "ole" })).items).toMatchObject([{ userId: "ole", owedUsd: 40 }]);
    expect(await admin.getFundingReport({})).toMatchObject({ owedUsd: 40 });

    await tenant.deposit("ole", 30);
    expect(await api.getWallet({})).toMatchObject({ balanceUsd: 0, owedUsd: 10 });
    await tenant.deposit("ole", 25);
    const { items } = await api.listStatement({});
    expect(items.map(({ type, amount, owed, balance }) => [type, amount, owed, balance])).toEqual([
      ["wallet.credited", 15, undefined, 15],
      ["wallet.credited", 0, -10, 0],
      ["wallet.credited", 0, -30, 0],
      ["wallet.debited", 0, 40, 0],
      ["wallet.debited", -10, undefined, 0],
      ["withdrawal.requested", -40, undefined, 10],
      ["wallet.credited", 50, undefined, 50],
    ]);
    // Page by page it is the same.
    const paged = [];
    for (let cursor: string | undefined; ; ) {
      const page = await api.listStatement({ limit: 1, ...(cursor ? { cursor } : {}) });
      paged.push(...page.items);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(items);
    expect(await admin.getFundingReport({})).toMatchObject({ owedUsd: 0 });
  });
});
