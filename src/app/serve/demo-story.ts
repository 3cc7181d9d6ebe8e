import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Fetch } from "../../client/fetch.ts";
import { httpApi } from "../../client/http-api.ts";
import type { Api, WireOutput, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { MARKET_KINDS, type MarketKind } from "../../domain/market/market-makers.ts";
import type { Side } from "../../domain/market/pool.ts";
import { counted } from "../../domain/text.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time/units.ts";
import type { ReadyTenant } from "../tenant/tenant-database.ts";
import { mintUserToken } from "../tenant/user-token.ts";

/** A page that is left open over a working day can still trade. */
const PLAYGROUND_TOKEN_MS = 12 * HOUR_MS;
const FUNDS_USD = 1000;
/** The pause between two reads of the market that settles by itself. */
const WATCH_MS = 1000;
export const TRADERS = ["alice", "bob"] as const;

/** The demo's access to its server: address and both keys, over HTTP like any client. */
export interface Stage {
  tenant: ReadyTenant;
  url: string;
  fetch: Fetch;
  adminKey: string;
  publicKey: string;
  /** A token that is valid for an hour. */
  userToken(userId: string): Promise<string>;
  admin: Api;
  as(userId: string): Api;
}

/** @param fetch reaches the demo's server and no other process */
export function setStage(tenant: ReadyTenant, url: string, fetch: Stage["fetch"]): Stage {
  const adminKey = keyOf(tenant, "admin");
  const publicKey = keyOf(tenant, "public");
  const userToken = (userId: string) => tokenOf(tenant, userId, HOUR_MS);
  return {
    tenant,
    url,
    fetch,
    adminKey,
    publicKey,
    userToken,
    admin: httpApi({ url, fetch, apiKey: adminKey }),
    as: (userId) => httpApi({ url, fetch, apiKey: publicKey, userToken: () => userToken(userId) }),
  };
}

async function tokenOf({ config, secrets: { jwt } }: ReadyTenant, userId: string, lifetimeMs: number): Promise<string> {
  const secret = () => ("secret" in jwt ? jwt.secret : "");
  return (await mintUserToken({ config, secret }, userId, lifetimeMs, wallClockMs())).token;
}

/** The tokens of the demo page's traders, by user. */
export async function playgroundTokens(tenant: ReadyTenant): Promise<Record<string, string>> {
  const tokens = TRADERS.map(async (userId) => [userId, await tokenOf(tenant, userId, PLAYGROUND_TOKEN_MS)] as const);
  return Object.fromEntries(await Promise.all(tokens));
}

function keyOf({ config, secrets }: ReadyTenant, type: "admin" | "public"): string {
  const key = secrets.keys.find((each) => each.type === type);
  if (!key) throw new Fault("CONFIG_INVALID", `${config.source.file} names no ${type} key`);
  return key.value;
}

/** Verifies and funds the demo's traders, through the webhooks that real providers use. */
export async function admitTraders(stage: Stage): Promise<void> {
  for (const userId of TRADERS) {
    const verifiedAt = new Date(wallClockMs()).toISOString();
    const kyc = { userId, status: "passed", provider: "demo", verifiedAt, jurisdiction: "CH" };
    await deliver(stage, "kyc", kyc);
    const deposit = { event: "deposit.completed", userId, amountUsd: FUNDS_USD, txRef: `demo-${randomUUID()}` };
    await deliver(stage, "payments", deposit);
  }
}

async function deliver({ url, fetch, tenant }: Stage, endpoint: "kyc" | "payments", event: object): Promise<void> {
  const body = JSON.stringify(event);
  const [secret = ""] = tenant.secrets.webhooks.inbound[endpoint].secrets;
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const headers = { "content-type": "application/json", "x-signature": signature };
  const response = await fetch(`${url}/${endpoint}/inbound/${tenant.config.tenant}`, { method: "POST", headers, body });
  if (!response.ok) throw new Fault("INTERNAL", `The demo's webhook was answered with ${response.status}`);
}

/** Returns false when the trade was refused, such as at a suspended market: the demo goes on without it. */
async function tradeIfTaken(trader: Api, order: Parameters<Api["placeTrade"]>[0]): Promise<boolean> {
  try {
    await trader.placeTrade(order);
    return true;
  } catch (error) {
    if (error instanceof Fault && error.status < 500) return false;
    throw error;
  }
}

/** Makes a few trades on each market, with the traders on opposite sides. Returns how many were executed. */
export async function tradeOn(stage: Pick<Stage, "as">, marketIds: readonly string[]): Promise<number> {
  let trades = 0;
  for (const [place, marketId] of marketIds.entries())
    for (const [index, userId] of TRADERS.entries())
      for (const amount of [25, 10]) {
        const side = (place + index) % 2 === 0 ? "yes" : "no";
        if (await tradeIfTaken(stage.as(userId), { marketId, selection: { side }, amount })) trades += 1;
      }
  return trades;
}

/**
 * The market that the demo's lines name: the first open one of the tenant's files that stays open for a day. A market that an earlier
 * demo left to settle by itself is named by no file. Without such a file, any other open market.
 * @returns its id; undefined where no market is open for that long
 */
export async function marketToShow({ admin }: Pick<Stage, "admin">): Promise<string | undefined> {
  const { items } = await admin.listMarkets({ status: "open", limit: 200 });
  const lasting = items.filter(({ closeAt }) => Date.parse(closeAt) > wallClockMs() + DAY_MS);
  return (lasting.find(({ key }) => typeof key === "string") ?? lasting[0])?.id;
}

/** The time from the opening of the market that settles by itself to its close; the oracle settles it seconds later. */
const SOON_MS = 75_000;

/** Opens a market that the oracle settles while people watch, by the simulated price of Bitcoin. */
export async function openMarketOfNow({ admin }: Pick<Stage, "admin">): Promise<{ id: string; closeAt: number }> {
  const closeAt = wallClockMs() + SOON_MS;
  const [feed] = await admin.checkFeeds({ feeds: ["pm:btc"] });
  const strike = Math.round(Number(feed?.price ?? 100_000));
  const { id } = await admin.createMarket({
    question: `Will Bitcoin's simulated price be above $${strike.toLocaleString("en")} at ${new Date(closeAt).toISOString().slice(11, 19)} UTC?`,
    category: "demo",
    kind: "lmsr",
    p0: 0.5,
    closeAt: new Date(closeAt).toISOString(),
    resolutionRef: `pm:btc > ${strike}`,
    liquidityUsd: 100,
  });
  return { id, closeAt };
}

/** Resolves to the outcome once the oracle has settled the market; null once the demo ends. */
export async function settlementOf(
  { admin }: Pick<Stage, "admin">,
  id: string,
  ended: AbortSignal,
): Promise<WireResult<"getMarket">["outcome"]> {
  while (!ended.aborted) {
    const { status, outcome } = await admin.getMarket({ id });
    if (status === "settled") return outcome;
    await delay(WATCH_MS, undefined, { signal: ended }).catch(() => {});
  }
  return null;
}

export interface DemoSummary {
  tenant: string;
  markets: { id: string; kind: string; outcome: string; payouts: number }[];
  trades: number;
  reconciliation: WireOutput<"reconcile">;
  audit: WireOutput<"getAuditStatus">;
  seconds: number;
}

/** How a market of each kind starts and settles. */
const STORIES: Readonly<Record<MarketKind, { p0: number; outcome: Side }>> = {
  cpmm: { p0: 0.5, outcome: "yes" },
  lmsr: { p0: 0.35, outcome: "no" },
};

/**
 * The whole life of a tenant: opens, trades and settles one market of each kind, then reconciles the ledger and
 * verifies the chain.
 * @param say receives each step
 * @param startedAt start of the command on the monotonic clock
 * @throws Fault INTEGRITY when the ledger or the chain does not hold
 */
export async function runOnce(stage: Stage, say: (text: string) => void, startedAt: number): Promise<DemoSummary> {
  const markets: DemoSummary["markets"] = [];
  await admitTraders(stage);
  say(`${TRADERS.join(" and ")}: identity verified, ${FUNDS_USD} USD each, by signed webhooks`);
  const created: { id: string; kind: MarketKind }[] = [];
  for (const kind of MARKET_KINDS) {
    const market = await stage.admin.createMarket({
      question: `Will this ${kind} market settle as yes?`,
      category: "demo",
      kind,
      p0: STORIES[kind].p0,
      closeAt: new Date(wallClockMs() + DAY_MS).toISOString(),
      resolutionRef: "the demo itself",
    });
    created.push({ id: market.id, kind });
    say(`market ${market.id} (${kind}) opened at ${market.yesPrice}`);
  }
  const trades = await tradeOn(
    stage,
    created.map(({ id }) => id),
  );
  say(`${counted(trades, "trade")} executed`);
  for (const { id, kind } of created) {
    const { outcome } = STORIES[kind];
    const { payoutsProcessed } = await stage.admin.settleMarket({ marketId: id, outcome });
    markets.push({ id, kind, outcome, payouts: payoutsProcessed });
    say(`market ${id} settled as ${outcome}: ${counted(payoutsProcessed, "winning position")} paid`);
  }
  const reconciliation = await stage.admin.reconcile({});
  say(`ledger reconciled: discrepancy ${reconciliation.discrepancy}`);
  const audit = await stage.admin.getAuditStatus({});
  say(`audit chain of ${counted(audit.count, "entry", "entries")}: ${audit.verified ? "verified" : "BROKEN"}`);
  if (!reconciliation.ok || !audit.verified)
    throw new Fault("INTEGRITY", "The demo's ledger or audit chain does not hold");
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  return { tenant: stage.tenant.config.tenant, markets, trades, reconciliation, audit, seconds };
}
