import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PaymentFact } from "../../src/engine/payments.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

// What withdrawals, credits, statements, assessments and restrictions come to is the model's (`test/model`).

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant();
});
afterAll(() => tenant.close());

const latest = async (limit = 1) => (await tenant.api().listAudit({ limit })).entries[0];

describe("a credit by hand", () => {
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
  test("is read by index: neither trades nor transfers are scanned", async () => {
    const { sql } = tenant;
    const plan = await sql.begin(async (tx) => {
      await tx`set local enable_seqscan = off`;
      return tx`
        explain select seq, amount_micro from transfer
         where debit = 'wallet:ole' and debit like 'wallet:%' and credit not like 'escrow:%' and credit <> 'fees'
         order by seq desc limit 50`;
    });
    expect(plan.map((row) => row["QUERY PLAN"]).join("\n")).toContain("transfer_out_of_wallet");
  });
});

describe("suitability", () => {
  test.each([[{}], [{ a: 5 }], [{ a: 1.5 }], [{ a: -1 }], [{ a: "4" }], [{ a: 0, b: 0, c: 0, d: 0, e: 0, f: 0 }]])(
    "%j is refused",
    async (answers) => {
      await expect(tenant.api("kim").submitSuitability({ answers } as never)).rejects.toMatchObject({
        code: "BAD_REQUEST",
      });
    },
  );
});

test("a restriction that is repeated leaves an entry only for another reason; what was never there is not released", async () => {
  const restrict = (reason?: string) => tenant.api(undefined, reason).restrictUser({ id: "lea" });
  expect(await restrict()).toEqual({ userId: "lea", state: "restricted" });
  const head = await tenant.sql`select seq from head`;
  await restrict();
  expect(await tenant.sql`select seq from head`).toEqual(head);
  await restrict("the second complaint");
  expect(await latest()).toMatchObject({ type: "user.restricted", payload: { reason: "the second complaint" } });
  const [release, show] = [() => tenant.api().releaseUser({ id: "x" }), () => tenant.api().getUser({ id: "x" })];
  for (const call of [release, show])
    await expect(call()).rejects.toMatchObject({ code: "NOT_FOUND", message: "User not found" });
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
