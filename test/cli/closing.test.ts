import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  for (const command of ["init", "apply"]) expect(await operator.run(command, "acme")).toMatchObject({ exitCode: 0 });
});
afterAll(() => operator.close());

test("a server that runs puts a closing on record, and ends while it sweeps without an error", async () => {
  const server = await operator.serve("acme");
  const closeAt = new Date(Date.now() + 3000).toISOString();
  const flags = {
    question: "Soon?",
    category: "c",
    kind: "cpmm",
    p0: "0.5",
    "close-at": closeAt,
    "resolution-ref": "me",
  };
  const options = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const created = await operator.run("market", "create", ...options, "--liquidity", "10", "-o", "json");
  expect(created).toMatchObject({ exitCode: 0 });
  const { id } = JSON.parse(created.stdout) as { id: string };
  const closings = async () => {
    const { stdout } = await operator.run("audit", "list", "--type", "market.closed", "-o", "json");
    return (JSON.parse(stdout) as { entries: { actor: string; payload: object }[] }).entries;
  };
  // Quicker looks would run into the server's rate limit.
  while ((await closings()).length === 0) await delay(500);
  expect(await closings()).toMatchObject([{ actor: "oracle", payload: { marketId: id, closeAt } }]);
  expect(await server.kill("SIGTERM")).toBe(0);
});
