import { beforeEach, describe, expect, test } from "vitest";
import type { Command } from "../../src/engine/commands.ts";
import { NOW, openWorld, usd, type World } from "./world.ts";

let world: World;

beforeEach(() => {
  world = openWorld();
});

const MONDAY = NOW - 3_600_000;
const TUESDAY = NOW - 5_000;

function kycOf(change: Partial<Command<"recordKyc">> = {}): Command<"recordKyc"> {
  return {
    type: "recordKyc",
    traderId: "ann",
    status: "passed",
    provider: "sumsub",
    verifiedAt: TUESDAY,
    jurisdiction: "AE",
    ...change,
  };
}

const standing = () => world.get("trader", "ann");

describe("KYC events", () => {
  test("a passed check verifies the user, and creates one not seen before", () => {
    const { draft } = world.run(kycOf());
    expect(standing()).toMatchObject({ kyc: "verified", kycAt: TUESDAY, jurisdiction: "AE", createdAt: NOW });
    expect(draft.audit).toEqual([
      {
        type: "kyc.updated",
        payload: {
          userId: "ann",
          status: "passed",
          provider: "sumsub",
          verifiedAt: new Date(TUESDAY).toISOString(),
          jurisdiction: "AE",
        },
      },
    ]);
  });

  test("a later failed check ends the verification", () => {
    world.run(kycOf({ verifiedAt: MONDAY }));
    world.run(kycOf({ status: "failed", verifiedAt: TUESDAY }));
    expect(standing()).toMatchObject({ kyc: "rejected", kycAt: TUESDAY });
  });

  test("a later passed check verifies again", () => {
    world.run(kycOf({ status: "failed", verifiedAt: MONDAY }));
    world.run(kycOf({ verifiedAt: TUESDAY }));
    expect(standing()?.kyc).toBe("verified");
  });

  test.each(["passed", "failed"])("an older one (%s) that arrives late changes nothing and adds no entry", (status) => {
    world.run(kycOf({ verifiedAt: TUESDAY }));
    const { draft } = world.run(kycOf({ status, verifiedAt: MONDAY, jurisdiction: "US" }));
    expect([...draft.writes()]).toEqual([]);
    expect(draft.audit).toEqual([]);
  });

  test.each(["passed", "failed"])("one with the verifiedAt last applied (%s) adds nothing", (status) => {
    world.run(kycOf());
    const { draft } = world.run(kycOf({ status }));
    expect([...draft.writes(), ...draft.audit]).toEqual([]);
  });

  test.each([
    ["PASSED", "verified"],
    ["Rejected", "rejected"],
    ["DECLINED", "rejected"],
    ["denied", "rejected"],
    [" failed ", "rejected"],
    ["not-passed", "rejected"],
  ])("the word %s means %s", (status, kyc) => {
    world.run(kycOf({ verifiedAt: MONDAY }));
    world.run(kycOf({ status }));
    expect(standing()?.kyc).toBe(kyc);
  });

  test("an unknown status is recorded and stops trading until the next result, unless the policy says otherwise", () => {
    world.run(kycOf({ verifiedAt: MONDAY }));
    const verifiedAt = new Date(TUESDAY).toISOString();
    const { draft } = world.run(kycOf({ status: "maybe" }));
    expect(draft.audit).toEqual([
      { type: "kyc.unrecognised", payload: { userId: "ann", status: "maybe", provider: "sumsub", verifiedAt } },
      { type: "kyc.updated", payload: { userId: "ann", status: "review", provider: "sumsub", verifiedAt } },
    ]);
    expect(standing()).toMatchObject({ kyc: "review", jurisdiction: "AE" });
    world.run(kycOf({ verifiedAt: TUESDAY + 1 }));
    expect(standing()?.kyc).toBe("verified");
    world.policy({ kycReview: false });
    expect(world.run(kycOf({ status: "maybe", verifiedAt: TUESDAY + 2 })).draft.audit).toMatchObject([
      { type: "kyc.unrecognised" },
    ]);
    expect(standing()?.kyc).toBe("verified");
  });

  test("an unknown status leaves a rejection as it is, and an older result changes no standing", () => {
    world.run(kycOf());
    expect(world.run(kycOf({ status: "maybe", verifiedAt: MONDAY })).draft.audit).toHaveLength(1);
    expect(standing()?.kyc).toBe("verified");
    world.run(kycOf({ status: "failed", verifiedAt: TUESDAY + 1 }));
    world.run(kycOf({ status: "maybe", verifiedAt: TUESDAY + 2 }));
    expect(standing()?.kyc).toBe("rejected");
  });

  test("a failure dated up to five minutes before the passed check on record counts, and the conflict is on record", () => {
    const passedAt = NOW + 4 * 60_000;
    const failed = (verifiedAt: number) => kycOf({ status: "failed", verifiedAt, jurisdiction: undefined });
    world.run(kycOf({ verifiedAt: passedAt }));
    expect(world.run(failed(passedAt - 5 * 60_000 - 1)).draft.audit).toEqual([]);
    const { draft } = world.run(failed(NOW));
    expect(draft.audit).toMatchObject([
      {
        type: "kyc.updated",
        payload: {
          status: "failed",
          verifiedAt: new Date(passedAt).toISOString(),
          datedAt: new Date(NOW).toISOString(),
        },
      },
    ]);
    expect(standing()).toMatchObject({ kyc: "rejected", kycAt: passedAt, jurisdiction: "AE" });
    // The passed check, sent again, does not verify again.
    expect(world.run(kycOf({ verifiedAt: passedAt })).draft.audit).toEqual([]);
  });

  test("a passed check dated up to five minutes before the failure on record does not count, and is on record", () => {
    const failedAt = NOW + 4 * 60_000;
    world.run(kycOf({ status: "failed", verifiedAt: failedAt }));
    expect(world.run(kycOf({ verifiedAt: failedAt - 5 * 60_000 - 1 })).draft.audit).toEqual([]);
    const { draft } = world.run(kycOf({ verifiedAt: NOW }));
    const verifiedAt = new Date(NOW).toISOString();
    expect(draft.audit).toEqual([
      { type: "kyc.unrecognised", payload: { userId: "ann", status: "passed", provider: "sumsub", verifiedAt } },
    ]);
    expect(standing()).toMatchObject({ kyc: "rejected", kycAt: failedAt });
    expect(world.run(kycOf({ verifiedAt: failedAt })).draft.audit).toEqual([]);
  });

  test("one that names no jurisdiction keeps the one on record", () => {
    world.run(kycOf({ verifiedAt: MONDAY }));
    world.run(kycOf({ jurisdiction: undefined }));
    expect(standing()?.jurisdiction).toBe("AE");
  });

  test.each(["passed", "failed", "pending"])("one of the future (%s) is refused, and leaves nothing", (status) => {
    const verifiedAt = NOW + 5 * 60_000 + 1;
    expect(() => world.run(kycOf({ status, verifiedAt }))).toThrow(
      expect.objectContaining({ code: "BAD_REQUEST", message: "verifiedAt: must not be in the future" }),
    );
    expect(standing()).toBeUndefined();
    world.run(kycOf({ verifiedAt: verifiedAt - 1 }));
    expect(standing()).toMatchObject({ kyc: "verified" });
  });

  test("a restriction survives a passed check", () => {
    world.trader("ann", { restricted: true });
    world.run(kycOf());
    expect(standing()).toMatchObject({ kyc: "verified", restricted: true });
  });
});

function depositOf(change: Partial<Command<"recordDeposit">> = {}): Command<"recordDeposit"> {
  return {
    type: "recordDeposit",
    provider: "payments",
    traderId: "ann",
    amountMicro: usd(250),
    reference: "tx_1",
    ...change,
  };
}

describe("deposits", () => {
  test("are credited from outside, and create a user not seen before", () => {
    const { draft } = world.run(depositOf());
    expect(draft.transfers).toEqual([
      { debit: "external:payments", credit: "wallet:ann", amountMicro: usd(250), entry: 0 },
    ]);
    expect(world.balance("external:payments")).toBe(-usd(250));
    expect(standing()).toMatchObject({ kyc: "unverified" });
    expect(draft.audit).toEqual([
      {
        type: "wallet.credited",
        payload: { userId: "ann", amount: "250", txRef: "tx_1", provider: "payments" },
      },
    ]);
  });

  test("a second deposit with the same txRef changes nothing, now or in a year", () => {
    world.run(depositOf());
    world.now += 365 * 86_400_000;
    const { draft } = world.run(depositOf());
    expect([...draft.writes(), ...draft.audit]).toEqual([]);
    expect(world.balance("wallet:ann")).toBe(usd(250));
  });

  test.each<[string, Partial<Command<"recordDeposit">>]>([
    ["another amount", { amountMicro: usd(250) + 1n }],
    ["another user", { traderId: "bob" }],
  ])("the same txRef with %s credits nothing and is recorded as a conflict", (_what, change) => {
    world.run(depositOf());
    const { draft } = world.run(depositOf(change));
    expect(draft.transfers).toEqual([]);
    expect(world.balance("wallet:ann")).toBe(usd(250));
    expect(world.balance("wallet:bob")).toBe(0n);
    const conflicting = depositOf(change);
    expect(draft.audit).toEqual([
      {
        type: "payment.conflict",
        payload: {
          userId: conflicting.traderId,
          txRef: "tx_1",
          amount: conflicting.amountMicro === usd(250) ? "250" : "250.000001",
          creditedUserId: "ann",
          creditedAmount: "250",
        },
      },
    ]);
  });

  test("the same txRef of another provider is another payment", () => {
    world.run(depositOf());
    world.run(depositOf({ provider: "stripe" }));
    expect(world.balance("wallet:ann")).toBe(usd(500));
  });

  test("a conflict does not use the payment up: the right one still counts as credited", () => {
    world.run(depositOf());
    world.run(depositOf({ amountMicro: 1n }));
    expect([...world.run(depositOf()).draft.audit]).toEqual([]);
  });
});
