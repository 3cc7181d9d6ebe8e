import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { marketThatCloses, newOperator, type Operator } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) => withRateLimit(text, 100_000));
  expect(await operator.run("apply", "acme")).toMatchObject({ exitCode: 0 });
});
afterAll(() => operator.close());

test("a server that runs puts a closing on record, and ends while it sweeps without an error", async () => {
  const server = await operator.serve("acme");
  const { id, closeAt } = await marketThatCloses(operator, (time) => [
    ...["market", "create", "--question", "Soon?", "--category", "c", "--kind", "cpmm", "--p0", "0.5"],
    ...["--close-at", time, "--resolution-ref", "me", "--liquidity", "10", "-o", "json"],
  ]);
  const closings = async () => {
    const { stdout } = await operator.run("audit", "list", "--type", "market.closed", "-o", "json");
    return (JSON.parse(stdout) as { entries: { actor: string; payload: object }[] }).entries;
  };
  while ((await closings()).length === 0) await delay(100);
  const payload = { marketId: id, closeAt: new Date(closeAt).toISOString() };
  expect(await closings()).toMatchObject([{ actor: "oracle", payload }]);
  expect(await server.kill("SIGTERM")).toBe(0);
});
