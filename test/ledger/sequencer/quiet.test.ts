import { expect, test } from "vitest";
import { GENESIS_HASH } from "../../../src/domain/audit/audit-link.ts";
import { auditKey } from "../../../src/domain/audit/seal.ts";
import { sameHead } from "../../../src/ledger/commit.ts";
import { prepareBatch, type Submission } from "../../../src/ledger/sequencer/batch.ts";
import { marketOf, NOW, openWorld } from "../../engine/world.ts";

const key = auditKey("a secret of thirty-two bytes or more");

/** The head after a batch that only keeps an answer: the market is open already. */
function headAfter(answerKey: string, epoch: bigint, now: number) {
  const world = openWorld();
  world.run(marketOf());
  const resume: Submission = {
    command: { type: "resumeMarket", marketId: "m1" },
    actor: "admin:test",
    render: () => ({ status: 200, body: "{}" }),
    idempotency: { caller: "admin", key: answerKey, requestHash: answerKey },
  };
  const head = { seq: 7n, hash: GENESIS_HASH, epoch, ts: now };
  const { batch } = prepareBatch(world, [resume], { head, now, key });
  expect(batch?.audit).toEqual([]);
  if (!batch) throw new Error("An answer is kept by a batch");
  return batch.next;
}

test("the batch that follows one lost in a failover leaves another head, so that no memory takes it for the lost one", () => {
  const lost = headAfter("a", 3n, NOW);
  const next = headAfter("b", 3n, NOW + 1);
  expect([lost.seq, lost.hash]).toEqual([next.seq, next.hash]);
  expect(sameHead(lost, next)).toBe(false);
  expect(next.epoch).toBeGreaterThan(lost.epoch);
});

test("an epoch rises also when the clock is behind it", () => {
  const ahead = BigInt(NOW) + 10n;
  expect(headAfter("a", ahead, NOW).epoch).toBe(ahead + 1n);
});
