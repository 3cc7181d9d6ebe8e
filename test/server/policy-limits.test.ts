import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../src/domain/policy/policy.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const tenant = tenantOfTests();
let authorization: string;
beforeAll(async () => {
  authorization = `Bearer ${await userToken()}`;
  await tenant.openMarket("mkt_1");
  await tenant.deposit("usr_1", 100);
});
beforeEach(async () => {
  expect((await put(DEFAULT_POLICY)).status).toBe(200);
});

const put = (patch: object) => send("PUT", "/v1/policy", ADMIN_KEY, patch);
const submit = (answers: object) => send("POST", "/v1/suitability", PUBLIC_KEY, { answers });

function send(method: string, path: string, key: string, body: object): Promise<Response> {
  const headers = { "x-api-key": key, "content-type": "application/json", authorization };
  return fetch(tenant.url + path, { method, headers, body: JSON.stringify(body) });
}

async function readPolicy(): Promise<typeof DEFAULT_POLICY> {
  const response = await fetch(`${tenant.url}/v1/policy`, { headers: { "x-api-key": ADMIN_KEY } });
  expect(response.status).toBe(200);
  return (await response.json()) as typeof DEFAULT_POLICY;
}

describe("blockBelow raised alone", () => {
  const eight = { a: 4, b: 4 };
  const trade = { marketId: "mkt_1", selection: { side: "yes" }, amount: 1 };

  test("blocks the scores below it, the tiers that cover them notwithstanding, until a better assessment", async () => {
    const answer = await put({ suitabilityRequired: true, suitabilityThresholds: { blockBelow: 9 } });
    expect(answer.status).toBe(200);
    expect((await readPolicy()).suitabilityThresholds).toEqual({
      ...DEFAULT_POLICY.suitabilityThresholds,
      blockBelow: 9,
    });

    expect(await (await submit(eight)).json()).toMatchObject({ score: 8, passed: false });
    await expectRefusal(await send("POST", "/v1/trade", PUBLIC_KEY, trade), 403, "SUITABILITY_REQUIRED");
    expect(await (await submit({ ...eight, c: 1 })).json()).toMatchObject({ score: 9, passed: true });
    expect((await send("POST", "/v1/trade", PUBLIC_KEY, trade)).status).toBe(200);
  });
});

describe("a limit in dollars", () => {
  test.each([
    ["maxTradeUsd", { maxTradeUsd: 0 }],
    ["maxUserExposureUsd", { maxUserExposureUsd: 0 }],
    ["a tier's cap", { suitabilityThresholds: { tiers: [{ minScore: 0, capUsd: 0 }] } }],
  ])("is more than nothing: %s of 0 is refused and changes nothing", async (_name, patch) => {
    await expectRefusal(await put(patch), 400, "BAD_REQUEST");
    expect(await readPolicy()).toEqual(DEFAULT_POLICY);
  });

  test("may be a single micro-dollar", async () => {
    expect((await put({ maxTradeUsd: 0.000001 })).status).toBe(200);
    expect((await readPolicy()).maxTradeUsd).toBe(0.000001);
  });
});

test("a country that ISO 3166 lacks would block nobody: it is refused and changes nothing", async () => {
  const answer = await put({ jurisdictions: { blocked: ["UK"] } });
  expect(await answer.clone().text()).toContain("UK is not a code; GB?");
  await expectRefusal(answer, 400, "BAD_REQUEST");
  expect(await readPolicy()).toEqual(DEFAULT_POLICY);
  expect((await put({ jurisdictions: { blocked: ["gb", "US-NY"] } })).status).toBe(200);
  expect((await readPolicy()).jurisdictions.blocked).toEqual(["GB", "US-NY"]);
});
