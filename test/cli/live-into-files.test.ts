import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.run("apply", "acme");
});
afterAll(() => operator?.close());

const file = () => readFile(join(operator.directory, "tenants", "acme", "tenant.yaml"), "utf8");

test("drift --write leaves edits that no apply made yet, pull --write replaces them, and the help of each names the other", async () => {
  await operator.run("policy", "set", "maxTradeUsd=40", "--yes", "--reason", "incident 7");
  await operator.edit("acme", (text) => text.replace("feeBps: 100", "feeBps: 120"));
  await operator.run("drift", "acme", "--write");
  expect(await file()).toMatch(/feeBps: 120[\s\S]*maxTradeUsd: 40/);
  await operator.run("pull", "acme", "--write");
  expect(await file()).toMatch(/feeBps: 100[\s\S]*maxTradeUsd: 40/);
  const helpOf = async (command: string) => (await operator.run(command, "--help")).stdout.replaceAll(/\s+/g, " ");
  expect(await helpOf("drift")).toContain("leave edits that no apply made yet, which `pull --write` replaces");
  expect(await helpOf("pull")).toContain("also over edits that no apply made yet, which `drift --write` leaves");
});
