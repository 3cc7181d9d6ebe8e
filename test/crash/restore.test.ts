import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";

/** `npm run crash` kills twenty times; the suite shows that the harness works and the guarantee holds. */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3);
const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  expect(await operator.run("apply", "acme")).toMatchObject({ exitCode: 0 });
});
afterAll(() => operator?.close());

interface Entry {
  seq: number;
  type: string;
  hash: string;
}

async function lastEntries(): Promise<Entry[]> {
  const { stdout } = await operator.run("audit", "list", "--limit", "3", "-o", "json");
  const answer = JSON.parse(stdout) as Entry[] | { entries: Entry[] };
  return Array.isArray(answer) ? answer : answer.entries;
}

const credit = (amount: string) =>
  operator.run("funding", "credit", "--user", "usr_1", "--amount", amount, "--reason", "test", "--new-user", "--yes");

test(`a restore that is killed leaves the old database, or the new one with its entry, ${ROUNDS} times`, async () => {
  await credit("5");
  const file = join(operator.directory, "one.backup.gz");
  expect(await operator.run("db", "backup", file)).toMatchObject({ exitCode: 0 });
  const outcomes = { old: 0, restored: 0 };
  let wholeMs = 0;
  // The first one runs to its end, which tells how long there is to kill the others in.
  for (let round = 0; round <= ROUNDS; round += 1) {
    await credit("1");
    const [before] = await lastEntries();
    const began = performance.now();
    const args = ["db", "restore", file, "--yes", "--accept-rollback", "--reason", "drill"];
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: operator.directory, stdio: "ignore" });
    const ended = once(child, "exit");
    if (round > 0) {
      // Most of them in the second half, where the database changes its name.
      const share = round % 2 === 0 ? round / ROUNDS : 0.7 + (0.3 * round) / ROUNDS;
      await Promise.race([ended, delay(wholeMs * share)]);
      child.kill("SIGKILL");
    }
    await ended;
    if (round === 0) wholeMs = performance.now() - began;
    const last = await lastEntries();
    const isOld = last[0]?.hash === before?.hash;
    if (!isOld) expect(last.map(({ type }) => type)).toContain("database.restored");
    outcomes[isOld ? "old" : "restored"] += 1;
    expect(await operator.run("audit", "verify")).toMatchObject({ exitCode: 0 });
    expect(await operator.run("reconcile")).toMatchObject({ exitCode: 0 });
  }
  expect(outcomes.restored).toBeGreaterThan(0);
  expect(outcomes.old + outcomes.restored).toBe(ROUNDS + 1);
});
