import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { TAGS } from "../../src/contract/operation.ts";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, TENANT, userToken, WEBHOOK_SECRET } from "./support/harness.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document is read by path here
type Json = Record<string, any>;

const BASE_URL = "https://predict.acme.example";
const STRIPE_SECRET = "whsec_stripe-of-the-examples-0123456789";
const document = JSON.parse(JSON.stringify(openApiDocument({ baseUrl: BASE_URL, tenantId: TENANT }))) as Json;
const operations = Object.values(document.paths as Json)
  .flatMap((item) => Object.values(item as Json))
  .map((operation) => ({ id: String(operation.operationId), operation: operation as Json }));
const answerOf = (id: string): Json =>
  (operations.find((each) => each.id === id) as Json).operation.responses["200"].content["application/json"].example;
const micro = (usd: number) => Math.round(usd * 1e6);

describe("the examples", () => {
  test("show purchases with the policy's fee and the average price of amount and shares", () => {
    const { feeBps } = answerOf("getPolicy");
    const filled = document.webhooks["order.filled"].post.requestBody.content["application/json"].example.data;
    const fills = [
      ...["placeTrade", "placeOrder", "quoteTrade", "getOrder"].map(answerOf),
      ...(answerOf("listOrders") as unknown as Json[]),
      filled,
    ];
    for (const fill of fills) {
      expect(fill.action).toBe("buy");
      expect(fill).not.toHaveProperty("realizedPnl");
      expect(micro(fill.fee)).toBe(Math.ceil((micro(fill.amount) * feeBps) / 10_000));
      expect(fill.avgPrice).toBeCloseTo(fill.amount / fill.shares, 6);
      // One example market, so all of them are the same purchase.
      expect(fill).toMatchObject({ shares: fills[0]?.shares, yesPriceAfter: fills[0]?.yesPriceAfter, side: "yes" });
      if ("outcome" in fill) expect(fill.outcome).toBe(1);
    }
  });

  test("share one wallet, one market and one day", () => {
    const { wallet, positions, sellValueUsd, ...portfolio } = answerOf("getPortfolio");
    const [position] = positions;
    const { shares, avgCost, currentPrice, unrealizedPnl, sellValue, sellPnl } = position;
    const { status: _, ...listed } = position;
    expect(answerOf("listPositions")).toEqual([listed]);
    expect(answerOf("getWallet")).toEqual(wallet);
    expect(answerOf("placeTrade").position).toEqual({ shares, avgCost });
    const cost = answerOf("placeTrade").amount;
    expect(wallet.exposureUsd).toBe(cost);
    expect(micro(unrealizedPnl)).toBe(Math.floor(micro(shares) * currentPrice) - micro(cost));
    expect([sellValueUsd, micro(sellPnl)]).toEqual([sellValue, micro(sellValue) - micro(cost)]);
    expect(portfolio.suitability).toMatchObject(answerOf("getSuitability"));
    const { yesPrice, noPrice, volume } = answerOf("getMarket");
    expect([yesPrice, micro(yesPrice) + micro(noPrice), volume]).toEqual([currentPrice, 1e6, cost]);
    expect((answerOf("getMarketHistory") as unknown as Json[]).at(-1)).toMatchObject({ yes: yesPrice, no: noPrice });
    const [{ balance, amount }, before] = answerOf("listStatement") as unknown as [Json, Json];
    expect([balance, amount]).toEqual([wallet.balanceUsd, -cost]);
    expect(before?.balance + amount).toBe(balance);
    const [trader] = answerOf("getTradersReport").traders;
    expect(trader).toMatchObject({ volume: cost, unrealizedPnl, sellPnl, totalPnl: unrealizedPnl });
    expect(answerOf("previewSettlement")).toMatchObject({ totalUsd: shares, price: yesPrice });
  });
});

interface Sent {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
}

const ENVIRONMENT = {
  PUBLIC_API_KEY: PUBLIC_KEY,
  ADMIN_API_KEY: ADMIN_KEY,
  WEBHOOK_SECRET,
  STRIPE_WEBHOOK_SECRET: STRIPE_SECRET,
};

/**
 * Stands for `curl` and `openssl` in a shell: the words that the first was called with, and what the second was asked.
 */
const STAND_INS = `
curl() { printf '%s\\0' "$@"; }
openssl() { printf 'hmac %s %s' "$4" "$(od -An -v -tx1 | tr -d ' \\n')"; }
cut() { cat; }
`;
const NEXT = "the next command";

/** What commands of the documentation send, as a POSIX shell reads them. */
function sentBy(commands: readonly string[], token: string): Sent[] {
  const env = { PATH: process.env.PATH, ...ENVIRONMENT, USER_TOKEN: token };
  const script = [STAND_INS, ...commands.flatMap((each) => [`printf '%s\\0' '${NEXT}'`, each])].join("\n");
  const output = execFileSync("sh", ["-euc", script], { env, encoding: "utf8" });
  return output
    .split(`${NEXT}\0`)
    .slice(1)
    .map((words) => requestOf(words.split("\0")));
}

function requestOf(words: readonly string[]): Sent {
  const sent: Sent = { url: "", method: "", headers: {}, body: undefined };
  for (let at = 0; at < words.length - 1; at++) {
    const [word = "", next = ""] = words.slice(at);
    if (word === "-N") continue;
    if (!["-X", "-H", "-d"].includes(word)) sent.url = word;
    else at++;
    if (word === "-X") sent.method = next;
    if (word === "-d") sent.body = next;
    const [name = "", ...value] = next.split(": ");
    if (word === "-H") sent.headers[name] = value.join(": ").replace(/hmac (\S+) (\S+)/, signature);
  }
  return { ...sent, method: sent.method || (sent.body === undefined ? "GET" : "POST") };
}

const signature = (_: string, secret: string, hex: string) =>
  createHmac("sha256", secret).update(Buffer.from(hex, "hex")).digest("hex");

const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

/** The command that the pages show for an operation. */
function commandIn(html: string, id: string): string {
  const [, shown = ""] = new RegExp(`aria-label="curl for ${id}"><code>([^<]*)</code>`).exec(html) ?? [];
  return shown.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}

describe("the commands", () => {
  const tenant = tenantOfTests({ baseUrl: BASE_URL, stripeSecrets: [STRIPE_SECRET] });
  let requests: Map<string, Sent>;
  beforeAll(async () => {
    const pages = await Promise.all(
      Object.keys(TAGS).map(async (tag) => (await fetch(`${tenant.url}/docs/${tag}`)).text()),
    );
    const commands = operations.map(({ id }) => commandIn(pages.join(""), id));
    const sent = sentBy(commands, await userToken({ sub: "usr_1" }));
    requests = new Map(operations.map(({ id }, place) => [id, sent[place] as Sent]));
    const { marketId } = answerOf("placeTrade");
    await tenant.openMarket(marketId, {
      question: answerOf("getMarket").question,
      kind: "cpmm",
      p0Ppm: 500_000,
      liquidityMicro: 1_000_000_000n,
    });
    await tenant.deposit("usr_1", 250);
  });

  /** What only a run can know. */
  const CHOSEN = ["tradeId", "orderId", "ts", "createdAt", "closeAt", "state", "suitability", "category"];

  function withoutChosen(value: Json | Json[]): unknown {
    if (Array.isArray(value)) return value.map(withoutChosen);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, part]) => (CHOSEN.includes(name) ? [] : [[name, withoutChosen(part)]])),
    );
  }

  async function run(id: string): Promise<{ status: number; code: string | null; body: string }> {
    const { url, method, headers, body } = requests.get(id) as Sent;
    expect(url.startsWith(`${tenant.url}/`)).toBe(true);
    const stop = new AbortController();
    const init = { method, headers, signal: stop.signal, ...(body === undefined ? {} : { body }) };
    const response = await fetch(url, init);
    const isStream = response.headers.get("content-type") === "text/event-stream";
    const text = isStream ? "" : await response.text();
    stop.abort();
    return { status: response.status, code: response.headers.get("error-code"), body: text };
  }

  test.each(["quoteTrade", "placeTrade", "listPositions", "getPortfolio", "getWallet", "getMarketDepth", "listRisk"])(
    "%s answers the figures that its example shows",
    async (id) => {
      const { status, body } = await run(id);
      expect(status).toBe(200);
      const [shown, answered] = [answerOf(id), JSON.parse(body)].map((each) =>
        withoutChosen(id === "getMarketDepth" ? { yes: each.yes.slice(0, 3), no: each.no.slice(0, 3) } : each),
      );
      expect(answered).toEqual(shown);
    },
  );

  test("all are let in and understood", { timeout: 60_000 }, async () => {
    /** What a fresh tenant lacks. */
    const understood = ["NOT_FOUND", "REFUSED", "PRECONDITION_FAILED", "KEY_EXISTS", "EXPECTATION_NOT_MET"];
    const ofEnds = ["MARKET_NOT_SETTLED", "CORRECTION_CLOSED", "MARKET_SETTLED"];
    // Sessions are revoked last, and what empties the market comes late.
    const late = [
      "voidMarket",
      "settleMarket",
      "restrictUser",
      "releaseUser",
      "deleteSession",
      "applyConfig",
      "revokeUser",
    ];
    const ids = operations.map(({ id }) => id);
    for (const id of [...ids.filter((each) => !late.includes(each)), ...late]) {
      const { status, code, body } = await run(id);
      // A freeze ends within weeks, and a tenant without sources of prices is sent none.
      if (id === "freezeConfig" || id === "receivePrice") continue;
      expect([id, status === 200 || [...understood, ...ofEnds].includes(code ?? ""), code, code && body]).toEqual([
        id,
        true,
        code,
        code && body,
      ]);
    }
  });
});
