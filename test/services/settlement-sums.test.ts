import { afterAll, beforeAll, expect, test } from "vitest";
import { changeByUser } from "../../src/domain/market/ends.ts";
import type { Outcome } from "../../src/domain/market/outcome.ts";
import { usdFromMicro } from "../../src/domain/money.ts";
import { sumsOf } from "../../src/engine/ends/ending.ts";
import { refundNeeds, requireKnown } from "../../src/engine/ends/settlement.ts";
import { readState } from "../../src/services/read-state.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let scene: TestTenant;
beforeAll(async () => {
  scene = await openTestTenant({ policy: { feeBps: 137 } });
});
afterAll(() => scene?.close());

const USERS = Array.from({ length: 9 }, (_, index) => `user_${index}`);

/** A market in which users hold one side or both, and some sold a part or all of it. */
async function tradedMarket(kind: "cpmm" | "lmsr"): Promise<string> {
  const marketId = await scene.market({ kind });
  for (const [index, user] of USERS.entries()) {
    await scene.deposit(user, 200);
    for (const side of index % 3 === 2 ? (["yes", "no"] as const) : ([index % 2 === 0 ? "yes" : "no"] as const)) {
      const { shares } = await scene.api(user).placeTrade({ marketId, selection: { side }, amount: 7.25 + index * 3 });
      const sold = [0, 3.333333, shares][index % 4];
      if (sold) await scene.api(user).placeTrade({ marketId, selection: { side, action: "sell" }, shares: sold });
    }
  }
  return marketId;
}

test.each(["cpmm", "lmsr"] as const)("a preview of a %s market has the sums of the end", async (kind) => {
  const id = await tradedMarket(kind);
  const { state } = await readState(scene.services, refundNeeds(id));
  const ending = requireKnown(state, id);
  const ends: [text: string, outcome: Outcome][] = [
    ...(["yes", "no", "void"] as const).map((each): [string, Outcome] => [each, each]),
    ["yes=0.4", "0.4"],
    ["yes=0.333333", "0.333333"],
    ["yes=0.000001", "0.000001"],
  ];
  const voided = sumsOf(ending, "void");
  for (const [text, outcome] of ends) {
    const sums = sumsOf(ending, outcome);
    const paid = [...changeByUser(ending.holders, undefined, outcome)].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const most = paid.reduce((largest, [, amount]) => (amount > largest ? amount : largest), 0n);
    const first = paid.find(([, amount]) => amount === most);
    expect(await scene.api().previewSettlement({ id, outcome: text })).toMatchObject({
      payouts: sums.payouts,
      totalUsd: usdFromMicro(sums.paidMicro),
      costUsd: usdFromMicro(voided.paidMicro),
      escrowUsd: usdFromMicro(sums.escrowMicro),
      fromFeesUsd: usdFromMicro(sums.feesMicro),
      houseResultUsd: usdFromMicro(sums.houseResultMicro),
      largest: first ? { userId: first[0], amountUsd: usdFromMicro(most) } : null,
    });
  }
  expect(voided.feesMicro).toBeGreaterThan(0n);
});

test("a market without a position pays nothing", async () => {
  const id = await scene.market();
  for (const outcome of ["yes", "void", "yes=0.4"])
    expect(await scene.api().previewSettlement({ id, outcome })).toMatchObject({
      ...{ payouts: 0, totalUsd: 0, costUsd: 0, houseResultUsd: 0, largest: null },
    });
});
