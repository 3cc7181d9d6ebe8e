import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refusalSentence } from "../../src/cli/why/sentences.ts";
import { runWhy } from "../../src/cli/why/why.ts";
import { planInit, writeInit } from "../../src/config/init.ts";
import type { TenantConfig } from "../../src/config/tenant-config.ts";
import { loadTenantFile } from "../../src/config/tenant-file.ts";
import { tenantPath } from "../../src/config/workspace.ts";
import { Fault } from "../../src/domain/fault.ts";
import { userToken } from "../server/support/harness.ts";
import { ADMIN_KEY, doors, type TestDoor } from "./support/doors.ts";
import { end, testIo } from "./support/io.ts";

let directory = "";
let config: TenantConfig;
beforeAll(async () => {
  directory = await mkdtemp("/tmp/pmctl-why-");
  await mkdir(join(directory, "tenants"));
  writeInit(directory, planInit({ tenant: "acme", template: "minimal" }));
  config = loadTenantFile(tenantPath(directory, "acme"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe.each(doors)("why %s", (kind, open) => {
  let door: TestDoor;
  let marketId = "";
  beforeAll(async () => {
    door = await open();
    const market = await door.api().createMarket({
      question: "Will it rain?",
      category: "weather",
      kind: "lmsr",
      p0: 0.5,
      closeAt: "2035-01-01T00:00:00Z",
      resolutionRef: "by hand",
    });
    marketId = market.id;
    await door.deposit("bob", 5000);
  });
  afterAll(() => door.close());

  async function why(id: string, format?: "json") {
    const io = testIo(format ? { format } : { terminal: 200, color: false });
    return end(io, () => runWhy({ id, config, isServer: kind === "http" }, door.api(), io));
  }

  /** The request id of a trade that is refused. */
  async function refused(amount: number): Promise<string> {
    const error = await door
      .api("bob")
      .placeTrade({ marketId, selection: { side: "yes" }, amount })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Fault);
    return String((error as Fault).detail.requestId);
  }

  test("a trade is shown with its entry, the price before and after, and what decided the fee", async () => {
    const trade = await door.api("bob").placeTrade({ marketId, selection: { side: "yes" }, amount: 50 });
    const { exit, stdout } = await why(trade.tradeId);
    expect(exit).toBe(0);
    expect(stdout).toMatch(/YES price\s+0\.500 before, 0\.\d+ after/);
    expect(stdout).toMatch(/fee\s+0\.50 USD; .*tenant\.yaml:\d+:\d+, applied by cli:setup, entry 2 of /);
    const { stdout: json } = await why(trade.tradeId, "json");
    expect(JSON.parse(json)).toMatchObject({
      kind: "trade",
      trade: { tradeId: trade.tradeId, entry: { type: "trade.executed" } },
      rule: { field: "policy.feeBps", setBy: { seq: 2, type: "config.applied" } },
    });
  });

  test("a trade is found by the beginning of its id", async () => {
    const first = await door.api("bob").placeTrade({ marketId, selection: { side: "yes" }, amount: 2 });
    const { exit, stdout } = await why(first.tradeId.slice(4, 24), "json");
    expect({ exit, tradeId: JSON.parse(stdout).trade?.tradeId }).toEqual({ exit: 0, tradeId: first.tradeId });
  });

  test("an unknown request ends with 5, and says where refused requests are remembered", async () => {
    const { exit, stderr } = await why("req_unknown");
    expect(exit).toBe(5);
    expect(stderr).toContain(
      kind === "http"
        ? "remembers its last 10,000"
        : "only the running server remembers refused requests, and none was asked: name it with --url",
    );
  });

  if (kind === "db") return;

  test("a refusal is explained with the rule, the numbers, the line of the file, and who applied it", async () => {
    const { exit, stdout } = await why(await refused(600));
    expect(exit).toBe(0);
    expect(stdout).toContain("placeTrade by admin:ops for bob");
    expect(stdout).toMatch(/because\s+amount 600 USD is over maxTradeUsd 500/);
    const { line, column } = config.source.positionOf(["policy", "maxTradeUsd"]);
    expect(stdout).toContain(`tenant.yaml:${line}:${column}, applied by cli:setup, entry 2 of `);
  });

  test("a refused request is found by the beginning of its id", async () => {
    const [, second] = [await refused(600), await refused(700)];
    const { exit, stdout } = await why(second.slice(4, 20), "json");
    expect({ exit, id: JSON.parse(stdout).refusal?.requestId }).toEqual({ exit: 0, id: second });
  });

  test("a refused user token is explained with the claim and the remedy", async () => {
    const answer = await fetch(`${door.url}/v1/wallet`, {
      headers: { "x-api-key": ADMIN_KEY, authorization: `Bearer ${await userToken({ exp: undefined })}` },
    });
    const { exit, stdout } = await why(answer.headers.get("request-id") ?? "");
    expect(exit).toBe(0);
    expect(stdout).toMatch(/because\s+exp is missing: set exp to at most 86400 seconds after iat/);
    expect(stdout).toMatch(/told\s+401 USER_REQUIRED: A valid user token is required/);
    expect(stdout).toMatch(/request\s+getWallet by admin:ops, /);
  });

  test("a limit that was set live names who set it and why, beside what the file says", async () => {
    await door.api(undefined, "calm day").updatePolicy({ maxTradeUsd: 400 });
    const requestId = await refused(450);
    await door.api().updatePolicy({ maxTradeUsd: 300 });
    const { stdout } = await why(requestId);
    expect(stdout).toContain("amount 450 USD is over maxTradeUsd 400");
    expect(stdout).toMatch(
      /tenant\.yaml:\d+:\d+, which says 500 now, set live by admin:ops, entry \d+ of [^:]+:\d\d:[^:]+: "calm day", since changed to 300/,
    );
  });
});

test.each([
  [
    "EXPOSURE_EXCEEDED",
    { field: "policy.suitabilityThresholds.tiers", limit: "500", value: "510" },
    "over suitabilityThresholds.tiers 500",
  ],
  ["INSUFFICIENT_FUNDS", { limit: "3", value: "5" }, "5 USD were asked for, and the account held 3"],
  ["MARKET_CLOSED", { closeAt: "2030-01-01T00:00:00.000Z" }, "the market closed at 2030-01-01"],
  ["BAD_REQUEST", {}, "amount: Invalid input"],
])("the sentence of %s has its numbers", (code, detail, expected) => {
  expect(refusalSentence({ code, detail, error: "amount: Invalid input" })).toContain(expected);
});
