import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { readTestedTenant, runCases } from "../../src/app/cases/run-case.ts";
import { FEES, TREASURY } from "../../src/domain/accounts.ts";
import { DEFAULT_POLICY } from "../../src/domain/policy/policy.ts";
import { tenantText } from "../config/support.ts";
import { Random } from "../model/random.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, userToken } from "./support/harness.ts";

const tenant = tenantOfTests();
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp("/tmp/pmctl-cases-");
  await mkdir(join(directory, "tenants/acme/tests"), { recursive: true });
  await writeFile(join(directory, "tenants/acme/tenant.yaml"), tenantText({ kyc: "{ required: false }" }));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

type Answer = Record<string, unknown>;

/** Asks the server; a refusal is its code, as a case expects it. */
async function ask(method: string, path: string, body: object | undefined, token?: string): Promise<Answer> {
  const response = await fetch(tenant.url + path, {
    method,
    headers: {
      "x-api-key": token === undefined ? ADMIN_KEY : PUBLIC_KEY,
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Answer;
  return response.ok ? answer : { refused: response.headers.get("error-code") };
}

const USERS = {
  ann: { balanceUsd: 5000, kyc: "none", jurisdiction: "GB" },
  bob: { balanceUsd: 40, kyc: "none", jurisdiction: "US-NY", suitability: 9 },
  cem: { balanceUsd: 900, kyc: "none", jurisdiction: "DE", suitability: 18 },
  dee: { balanceUsd: 700, kyc: "none", jurisdiction: "DE", restricted: true },
};
type User = keyof typeof USERS;
interface Trader {
  balanceUsd: number;
  jurisdiction: string;
  suitability?: number;
  restricted?: boolean;
}
const NAMES = Object.keys(USERS) as User[];

/** An answer scores 0 to 4. */
const scoreOf = (left: number) => Math.max(0, Math.min(4, left));

/** A case of random steps, each with what a real tenant answered to it, and what the tenant then shows. */
async function recordCase(seed: number) {
  const random = new Random(seed);
  const { jurisdictions: _, ...limits } = DEFAULT_POLICY;
  const policy = { ...limits, jurisdictions: { allowed: [], blocked: ["US"] } };
  expect(await ask("PUT", "/v1/policy", policy)).not.toHaveProperty("refused");

  const idOf = (name: string) => `${name}-${seed}`;
  const tokens = new Map<User, string>();
  for (const name of NAMES) {
    const { balanceUsd, jurisdiction, suitability, restricted }: Trader = USERS[name];
    const token = await userToken({ sub: idOf(name), jurisdiction });
    tokens.set(name, token);
    await tenant.deposit(idOf(name), balanceUsd);
    if (suitability !== undefined) {
      const answers = Object.fromEntries([0, 4, 8, 12, 16].map((from) => [`q${from}`, scoreOf(suitability - from)]));
      expect(await ask("POST", "/v1/suitability", { answers }, token)).toMatchObject({ score: suitability });
    }
    if (restricted) await ask("POST", `/v1/users/${idOf(name)}/restrict`, {});
  }
  const [treasury, fees] = [await tenant.balance(TREASURY), await tenant.balance(FEES)];
  const markets = Object.fromEntries(
    ["rain", "snow"].map((name) => [
      name,
      {
        question: name,
        category: "weather",
        kind: random.pick(["lmsr", "cpmm"]),
        p0: random.integer(50, 950) / 1000,
        closeAt: "2096-01-01T00:00:00Z",
        resolutionRef: "the press",
        liquidityUsd: random.dollars(50, 3000),
      },
    ]),
  );
  const ids = new Map([["fog", "mkt_none"]]);
  for (const [name, market] of Object.entries(markets))
    ids.set(name, String((await ask("POST", "/v1/markets", market)).id));

  const steps: (object & { expect: Answer })[] = [];
  const record = (
    action: object,
    { tradeId: _, marketId: __, id: ___, ts, settledAt, updatedAt, ...expected }: Answer,
  ) => steps.push({ ...action, expect: expected });
  // A case names a market that there is not only to be refused so.
  const isForCases = (market: string, { refused }: Answer) => market !== "fog" || refused === "MARKET_NOT_FOUND";
  const held = new Map<string, number>();
  for (let step = 0; step < 50; step++) {
    const market = random.pick(["rain", "rain", "rain", "snow", "snow", "fog"]);
    const path = `/v1/markets/${ids.get(market)}`;
    const kind = random.weighted({ buy: 20, sell: 8, suspend: 0.5, resume: 2, policy: 1, settle: 0.2 });
    if (kind === "suspend" || kind === "resume") record({ [kind]: market }, await ask("POST", `${path}/${kind}`, {}));
    else if (kind === "policy") {
      const patch = { maxTradeUsd: random.dollars(10, 400), feeBps: random.integer(0, 300) };
      record({ policy: patch }, await ask("PUT", "/v1/policy", patch));
    } else if (kind === "settle") {
      const outcome = random.pick(["yes", "no"]);
      record({ settle: { market, outcome } }, await ask("POST", "/v1/settle", { marketId: ids.get(market), outcome }));
    } else {
      const [user, side] = [random.pick<User>(["ann", "ann", "cem", ...NAMES]), random.pick(["yes", "no"])];
      const place = `${user} ${market} ${side}`;
      const size =
        kind === "buy"
          ? { amount: random.chance(0.1) ? random.pick([0, 1e-6, 20_000]) : random.dollars(1, 300) }
          : { shares: random.chance(0.3) ? random.dollars(1, 100) : (held.get(place) ?? 1) };
      const body = { marketId: ids.get(market), selection: { side, action: kind }, ...size };
      const answer = await ask("POST", "/v1/trade", body, tokens.get(user));
      const position = answer.position as { shares: number } | undefined;
      if (position) held.set(place, position.shares);
      const { amount: amountUsd, ...shares } = { amount: undefined, ...size };
      const trade = {
        user: idOf(user),
        market,
        side,
        action: kind,
        ...shares,
        ...(amountUsd === undefined ? {} : { amountUsd }),
      };
      if (isForCases(market, answer)) record({ trade }, answer);
    }
  }

  const shown = async (name: string) => {
    const { status, yesPrice, outcome } = await ask("GET", `/v1/markets/${ids.get(name)}`, undefined);
    return [name, { status, yesPrice, outcome }] as const;
  };
  const dollars = (micro: bigint) => Number(micro) / 1e6;
  const [earned, gained] = [(await tenant.balance(FEES)) - fees, (await tenant.balance(TREASURY)) - treasury];
  const balances = NAMES.map(async (name) => [idOf(name), dollars(await tenant.balance(`wallet:${idOf(name)}`))]);
  const open = NAMES.map(async (name) => {
    const positions = (await ask("GET", "/v1/positions", undefined, tokens.get(name))) as unknown as Answer[];
    const ofMarket = ({ marketId }: Answer) => [...ids].find(([, id]) => id === marketId)?.[0] ?? "";
    return [
      idOf(name),
      Object.fromEntries(positions.map((each) => [ofMarket(each), { side: each.side, shares: each.shares }])),
    ];
  });
  return {
    name: `seed ${seed}`,
    given: {
      policy,
      treasuryUsd: 100_000,
      users: Object.fromEntries(NAMES.map((name) => [idOf(name), USERS[name]])),
      markets,
    },
    when: steps,
    // biome-ignore lint/suspicious/noThenProperty: it becomes the text of a case
    then: {
      balances: Object.fromEntries(await Promise.all(balances)),
      positions: Object.fromEntries(await Promise.all(open)),
      markets: Object.fromEntries(await Promise.all(["rain", "snow"].map(shown))),
      house: { feesUsd: dollars(earned), resultUsd: dollars(earned + gained) },
    },
  };
}

test.each([1, 2, 3, 4])("a case predicts what the service answers over HTTP, steps of seed %i", async (seed) => {
  const file = join(directory, "tenants/acme/tests", `seed-${seed}.yaml`);
  const recorded = await recordCase(seed);
  await writeFile(file, stringify(recorded));
  const tested = readTestedTenant("acme", join(directory, "tenants/acme/tenant.yaml"));
  const [ran] = runCases(tested, (name) => name === `seed ${seed}`);
  expect(ran?.result.failures).toEqual([]);
  const filled = recorded.when.filter((step) => "shares" in step.expect).length;
  expect([filled > 5, (ran?.refused.size ?? 0) > 2]).toEqual([true, true]);
});
