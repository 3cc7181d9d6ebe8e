import { mkdtemp, rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { completeProgram } from "../../src/cli/program.ts";
import { leavesOf } from "./support/leaves.ts";
import { pmctlHere } from "./support/pmctl.ts";

const leaves = leavesOf(await completeProgram());

/** Commands whose change and its first result are kept in one commit. */
const REPEATABLE = [
  ...["apply", "rollback", "freeze", "reconcile", "policy set"],
  ...["key create", "key rotate", "key revoke"],
  ...["market create", "market suspend", "market resume", "market clarify", "market settle"],
  ...["market void", "market correct"],
  ...["proposal approve", "proposal reject", "proposal execute", "proposal object"],
  ...["webhook replay", "webhook enable", "webhook test"],
  ...["trade buy", "trade sell", "suitability submit", "user restrict", "user release", "user revoke"],
  ...["funding request", "funding approve", "funding reject", "funding credit", "funding debit"],
];

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp("/tmp/pmctl-idempotency-");
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

test("every command whose first result is kept takes --idempotency-key, and each other one refuses it with 6", async () => {
  const taken: string[] = [];
  for (const { path, line } of leaves) {
    // Without a tenant nothing begins.
    const { code, stderr } = await pmctlHere([...line, "--idempotency-key", "k", "--yes", "--reason", "x"], { cwd });
    const isRefused = stderr.includes("keeps no first result to repeat");
    if (!isRefused) taken.push(path.join(" "));
    expect({ path, code: isRefused ? code : 6 }).toEqual({ path, code: 6 });
  }
  expect(taken.toSorted()).toEqual(REPEATABLE.toSorted());
});

test.each(["", " k", "k ", "ключ", "k".repeat(256)])("the key %j is refused with 6", async (key) => {
  const { code, stderr } = await pmctlHere(["market", "resume", "x", "--idempotency-key", key], { cwd });
  expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringContaining("--idempotency-key") });
});
