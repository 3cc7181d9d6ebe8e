import { beforeEach, describe, expect, test } from "vitest";
import type { Command } from "../../src/engine/commands.ts";
import { openWorld, usd, type World } from "./world.ts";

let world: World;

beforeEach(() => {
  world = openWorld();
  world.fund("ann", 100);
});

const request: Command<"requestWithdrawal"> = {
  type: "requestWithdrawal",
  id: "w1",
  traderId: "ann",
  amountMicro: usd(60),
};
const decide = (approve: boolean): Command<"decideWithdrawal"> => ({
  type: "decideWithdrawal",
  id: "w1",
  traderId: "ann",
  approve,
});

const money = () => [world.balance("wallet:ann"), world.balance("pending:ann"), world.balance("external:withdrawals")];

describe("withdrawals", () => {
  test("leave the wallet at once, so that the money cannot be spent while an operator decides", () => {
    world.run(request);
    expect(money()).toEqual([usd(40), usd(60), 0n]);
    expect(world.refusal({ ...request, id: "w2" })).toBe("INSUFFICIENT_FUNDS");
  });

  test("of exactly the balance pass, of a micro-dollar more do not", () => {
    expect(world.refusal({ ...request, amountMicro: usd(100) })).toBe("accepted");
    expect(world.refusal({ ...request, amountMicro: usd(100) + 1n })).toBe("INSUFFICIENT_FUNDS");
  });

  test.each<[string, boolean, bigint[]]>([
    ["approved leave the house", true, [usd(40), 0n, usd(60)]],
    ["rejected go back to the wallet", false, [usd(100), 0n, 0n]],
  ])("%s, and the same decision again changes nothing", (_what, approve, expected) => {
    world.run(request);
    const first = world.run(decide(approve)).result;
    expect(money()).toEqual(expected);
    world.wait(1000);
    const { result, draft } = world.run(decide(approve));
    expect(result).toEqual(first);
    expect([...draft.writes(), ...draft.transfers, ...draft.audit]).toEqual([]);
    expect(world.refusal(decide(!approve))).toBe("WITHDRAWAL_DECIDED");
  });

  test("that were never requested cannot be decided", () => {
    expect(world.refusal(decide(true))).toBe("NOT_FOUND");
  });

  test("of a restricted user are refused; what was asked for before can still be decided", () => {
    world.run(request);
    world.trader("ann", { restricted: true });
    expect(world.refusal({ ...request, id: "w2", amountMicro: 1n })).toBe("ACCOUNT_RESTRICTED");
    expect(world.refusal(decide(false))).toBe("accepted");
  });
});

test("an operator credits at most what the policy says, and debits at most what the wallet holds of a user that exists", () => {
  const credit = (amountMicro: bigint) =>
    world.refusal({ type: "creditWallet", id: "crd_1", traderId: "ann", amountMicro });
  expect(credit(usd(1000) + 1n)).toBe("MAX_CREDIT_EXCEEDED");
  expect(credit(usd(1000))).toBe("accepted");
  world.policy({ maxCreditUsd: 5 });
  expect(credit(usd(6))).toBe("MAX_CREDIT_EXCEEDED");
  world.run({ type: "creditWallet", id: "crd_2", traderId: "ann", amountMicro: usd(5) });
  const debit = { type: "debitWallet", id: "deb_1", traderId: "ann" } as const;
  expect(world.refusal({ ...debit, amountMicro: usd(106) })).toBe("INSUFFICIENT_FUNDS");
  expect(world.refusal({ ...debit, traderId: "nobody", amountMicro: 1n })).toBe("NOT_FOUND");
  const { draft, result } = world.run({ ...debit, amountMicro: usd(100) });
  expect(draft.transfers).toEqual([
    { debit: "wallet:ann", credit: "external:operator", amountMicro: usd(100), entry: 0 },
  ]);
  expect([result.balanceMicro, draft.audit]).toEqual([
    usd(5),
    [
      {
        type: "wallet.debited",
        payload: { debitId: "deb_1", userId: "ann", amount: "100", receivable: "0", provider: "operator" },
      },
    ],
  ]);
});

test("a credit that expects another balance than the wallet's is refused and changes nothing", () => {
  const credit = { type: "creditWallet", id: "crd_1", traderId: "ann", amountMicro: usd(5) } as const;
  expect(world.refusal({ ...credit, expectedMicro: usd(99) })).toBe("EXPECTATION_NOT_MET");
  expect(world.refusal({ ...credit, traderId: "new", expectedMicro: usd(1) })).toBe("EXPECTATION_NOT_MET");
  expect(world.refusal({ ...credit, expectedMicro: usd(100) })).toBe("accepted");
  expect(world.refusal({ ...credit, traderId: "new", expectedMicro: 0n })).toBe("accepted");
});

test("an operator's credit comes from outside, and the record names the user, not the operator", () => {
  const { draft, result } = world.run({ type: "creditWallet", id: "crd_1", traderId: "ann", amountMicro: usd(5) });
  expect(draft.transfers).toEqual([
    { debit: "external:operator", credit: "wallet:ann", amountMicro: usd(5), entry: 0 },
  ]);
  expect(result.balanceMicro).toBe(usd(105));
  expect(draft.audit).toEqual([
    { type: "wallet.credited", payload: { creditId: "crd_1", userId: "ann", amount: "5", provider: "operator" } },
  ]);
});
