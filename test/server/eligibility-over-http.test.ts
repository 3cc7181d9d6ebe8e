import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { WireResult } from "../../src/contract/operations.ts";
import { faultFacts, isFaultCode } from "../../src/domain/fault.ts";
import type { RunningServer } from "../../src/server/server.ts";
import { ADMIN_KEY, openTestTenant, PUBLIC_KEY, type TestTenant } from "../support/tenant.ts";
import { serveServices, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

type Eligibility = WireResult<"getEligibility">;
const ANSWERS = { a: 4, b: 4, c: 4, d: 4 };

let tenant: TestTenant;
let server: RunningServer;
beforeAll(async () => {
  tenant = await openTestTenant({ kycRequired: true, policy: { suitabilityRequired: true } });
  server = await serveServices(tenant.services);
});
afterAll(async () => {
  await server.close();
  await tenant.close();
});

async function call(path: string, user?: string, claims: Record<string, unknown> = {}, body?: unknown) {
  const headers: Record<string, string> = { "x-api-key": user === undefined ? ADMIN_KEY : PUBLIC_KEY };
  if (user !== undefined) headers.authorization = `Bearer ${await userToken({ sub: user, ...claims })}`;
  if (body === undefined) return fetch(server.url + path, { headers });
  headers["content-type"] = "application/json";
  return fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
}

const asked = async (path: string, user?: string, claims?: Record<string, unknown>) => {
  const response = await call(path, user, claims);
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("no-store");
  return (await response.json()) as Eligibility;
};

const verify = (traderId: string, verifiedAt: number, jurisdiction?: string) =>
  tenant.services.sequencer.submit({
    command: { type: "recordKyc", traderId, status: "passed", provider: "test", verifiedAt, jurisdiction },
    actor: "provider:test",
  });

describe("GET /v1/eligibility", () => {
  test("names everything in the way at once; each reason is what the trade meets when those before it are gone", async () => {
    const operator = tenant.api();
    const marketId = await tenant.market();
    await operator.suspendMarket({ id: marketId });
    await operator.restrictUser({ id: "usr_all" });
    await operator.updatePolicy({ jurisdictions: { allowed: ["AE"] } });
    const path = `/v1/eligibility?marketId=${marketId}`;
    const { trade, sell, deposit, withdraw } = await asked(path, "usr_all");
    const steps: [code: string, action: string | null, clear: () => Promise<unknown>][] = [
      ["MARKET_SUSPENDED", null, () => operator.resumeMarket({ id: marketId })],
      ["KYC_REQUIRED", "verify", () => verify("usr_all", 1)],
      ["ACCOUNT_RESTRICTED", "contact", () => operator.releaseUser({ id: "usr_all" })],
      ["JURISDICTION_UNKNOWN", "verify", () => verify("usr_all", 2, "AE")],
      ["SUITABILITY_REQUIRED", "suitability", () => tenant.api("usr_all").submitSuitability({ answers: ANSWERS })],
      ["INSUFFICIENT_FUNDS", "deposit", () => tenant.deposit("usr_all", 100)],
    ];
    const told = ({ reasons }: Eligibility["sell"]) => reasons.map(({ code, until, action }) => [code, until, action]);
    expect(trade.allowed).toBe(false);
    expect(told(trade)).toEqual(steps.map(([code, action]) => [code, null, action]));
    expect(told(sell)).toEqual([...told(trade).slice(0, -1), ["INSUFFICIENT_SHARES", null, null]]);
    expect(told(withdraw)).toEqual([
      ["ACCOUNT_RESTRICTED", null, "contact"],
      ["INSUFFICIENT_FUNDS", null, "deposit"],
    ]);
    expect(deposit).toEqual({ allowed: true, reasons: [] });

    const order = { marketId, selection: { side: "yes" }, amount: 1 };
    for (const [index, [code, , clear]] of steps.entries()) {
      const response = await call("/v1/trade", "usr_all", {}, order);
      if (!isFaultCode(code)) throw new Error(`${code} is no code`);
      const { error } = (await response.clone().json()) as { error: string };
      await expectRefusal(response, faultFacts(code).status, code);
      // The message is the refusal's own.
      expect(trade.reasons[index]).toMatchObject({ code, message: error });
      await clear();
    }
    expect((await call("/v1/trade", "usr_all", {}, order)).status).toBe(200);
    const after = await asked(path, "usr_all");
    expect(after).toMatchObject({ trade: { allowed: true, reasons: [] }, sell: { allowed: true } });
    expect(after.trade.limits).toEqual({
      ...{ maxTradeUsd: 100_000, maxExposureUsd: 1_000_000 },
      ...{ remainingUsd: 999_999, balanceUsd: 99 },
    });
    await operator.updatePolicy({ jurisdictions: { allowed: [] } });
  });

  test("a temporary rule states its end", async () => {
    await verify("usr_temp", 1);
    await tenant.deposit("usr_temp", 10);
    await tenant.services.sequencer.submit({
      command: { type: "updatePolicy", patch: { suitabilityRequired: false } },
      actor: "admin:ops",
    });
    await tenant.services.sequencer.submit({
      command: { type: "updatePolicy", patch: { suitabilityRequired: true }, ttlMs: 3_600_000 },
      actor: "admin:ops",
    });
    const { trade } = await asked("/v1/eligibility", "usr_temp");
    const [reason] = trade.reasons;
    expect(trade.reasons).toHaveLength(1);
    expect(reason?.code).toBe("SUITABILITY_REQUIRED");
    expect(Date.parse(reason?.until ?? "") - Date.now()).toBeGreaterThan(3_500_000);
    await tenant.api().updatePolicy({ suitabilityRequired: true });
  });

  test("without a market only the rules of every market count; an unknown market is not found", async () => {
    await verify("usr_any", 1, "AE");
    const codes = ({ reasons }: Eligibility["sell"]) => reasons.map(({ code }) => code);
    const { trade } = await asked("/v1/eligibility", "usr_any");
    expect(codes(trade)).toEqual(["SUITABILITY_REQUIRED", "INSUFFICIENT_FUNDS"]);
    await expectRefusal(await call("/v1/eligibility?marketId=mkt_none", "usr_any"), 404, "MARKET_NOT_FOUND");
    const unsigned = await fetch(`${server.url}/v1/eligibility`, { headers: { "x-api-key": PUBLIC_KEY } });
    await expectRefusal(unsigned, 401, "USER_REQUIRED");
  });
});

describe("GET /v1/users/:id/eligibility", () => {
  test("answers the operator as it answers the user, except for what only the token claims", async () => {
    await tenant.api().updatePolicy({ jurisdictions: { allowed: ["AE"] }, suitabilityRequired: false });
    await verify("usr_adm", 1);
    await tenant.deposit("usr_adm", 10);
    const ofUser = await asked("/v1/eligibility", "usr_adm");
    expect(await asked("/v1/users/usr_adm/eligibility")).toEqual(ofUser);
    expect(ofUser.trade.reasons).toMatchObject([{ code: "JURISDICTION_UNKNOWN" }]);
    const claiming = await asked("/v1/eligibility", "usr_adm", { jurisdiction: "AE" });
    expect(claiming.trade.reasons).toEqual([]);
    await tenant.api().updatePolicy({ jurisdictions: { allowed: [] }, suitabilityRequired: true });
  });

  test("an unknown user is not found, before an unknown market; a public key may not ask", async () => {
    await expectRefusal(await call("/v1/users/usr_none/eligibility?marketId=mkt_none"), 404, "NOT_FOUND");
    await expectRefusal(await call("/v1/users/usr_any/eligibility?marketId=mkt_none"), 404, "MARKET_NOT_FOUND");
    await expectRefusal(await call("/v1/users/usr_any/eligibility", "usr_any"), 403, "FORBIDDEN");
  });

  test("in the process and over HTTP the answer is the same", async () => {
    const local = localApi(tenant.services.handlers, { actor: "cli:tester" });
    expect(await local.getUserEligibility({ id: "usr_any" })).toEqual(await asked("/v1/users/usr_any/eligibility"));
  });
});
