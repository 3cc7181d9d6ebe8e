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

const put = (patch: object, headers: Record<string, string> = {}) =>
  send("PUT", "/v1/policy", ADMIN_KEY, patch, headers);
const submit = (answers: object) => send("POST", "/v1/suitability", PUBLIC_KEY, { answers });

function send(method: string, path: string, key: string, body: object, headers: Record<string, string> = {}) {
  const own = { "x-api-key": key, "content-type": "application/json", authorization };
  return fetch(tenant.url + path, { method, headers: { ...own, ...headers }, body: JSON.stringify(body) });
}

async function read() {
  const response = await fetch(`${tenant.url}/v1/policy`, { headers: { "x-api-key": ADMIN_KEY } });
  expect(response.status).toBe(200);
  return { tag: response.headers.get("etag") ?? "", policy: (await response.json()) as typeof DEFAULT_POLICY };
}
const readPolicy = async () => (await read()).policy;

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

test("a country that ISO 3166 lacks would block no user: it is refused and changes nothing", async () => {
  const answer = await put({ jurisdictions: { blocked: ["UK"] } });
  expect(await answer.clone().text()).toContain("UK is not a code; GB?");
  await expectRefusal(answer, 400, "BAD_REQUEST");
  expect(await readPolicy()).toEqual(DEFAULT_POLICY);
  expect((await put({ jurisdictions: { blocked: ["gb", "US-NY"] } })).status).toBe(200);
  expect((await readPolicy()).jurisdictions.blocked).toEqual(["GB", "US-NY"]);
});

test("a change that insists on what it read loses to one that came in between", async () => {
  const { tag } = await read();
  expect(tag).toMatch(/^"\d+"$/);
  const first = await put({ feeBps: 10 }, { "if-match": tag });
  expect(first.status).toBe(200);
  expect(first.headers.get("etag")).toBe((await read()).tag);
  await expectRefusal(await put({ feeBps: 20 }, { "if-match": tag }), 400, "PRECONDITION_FAILED");
  expect((await read()).policy.feeBps).toBe(10);
  expect((await put({ feeBps: 30 }, { "if-match": `"no", ${first.headers.get("etag")}` })).status).toBe(200);
});

test("of many changes on the same version exactly one is made", async () => {
  const { tag } = await read();
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => put({ feeBps: 200 + n }, { "if-match": tag })),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(11).fill(400)]);
});

test.each(["", '"none"', "*weak", 'W/"1"', '"-1"', "1"])("the condition %j matches nothing", async (ifMatch) => {
  await expectRefusal(await put({ feeBps: 1 }, { "if-match": ifMatch }), 400, "PRECONDITION_FAILED");
});

test("a change without a condition, or on any version, is made", async () => {
  expect((await put({ feeBps: 40 })).status).toBe(200);
  expect((await put({ feeBps: 41 }, { "if-match": "*" })).status).toBe(200);
});

test("Policy-Ttl makes a change that goes back by itself", async () => {
  const before = (await readPolicy()).feeBps;
  const answer = await put({ feeBps: before + 7 }, { "policy-ttl": "1" });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ feeBps: before + 7 });
  while ((await readPolicy()).feeBps !== before) await new Promise((resolve) => setTimeout(resolve, 50));
});

test("a change for good ends the override of its field", async () => {
  expect((await put({ feeBps: 31 }, { "policy-ttl": "3600" })).status).toBe(200);
  expect((await put({ feeBps: 32 })).status).toBe(200);
  expect((await readPolicy()).feeBps).toBe(32);
});

test.each(["", "0", "-1", "1.5", "2h", "2592001", "1, 2"])("Policy-Ttl %j is 400 and changes nothing", async (ttl) => {
  const before = (await readPolicy()).feeBps;
  await expectRefusal(await put({ feeBps: before + 1 }, { "policy-ttl": ttl }), 400, "BAD_REQUEST");
  expect((await readPolicy()).feeBps).toBe(before);
});
