// Signs a token for one user and buys YES shares with it. Node.js 20 or newer, no packages.
import { createHmac, randomUUID } from "node:crypto";

const { PREDICT_URL = "http://127.0.0.1:8080", PUBLIC_API_KEY, JWT_SECRET } = process.env;
if (!PUBLIC_API_KEY || !JWT_SECRET) fail("Set PUBLIC_API_KEY and JWT_SECRET");

function fail(problem) {
  console.error(problem);
  process.exit(1);
}

function userToken(user, lifeSeconds = 600) {
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: "HS256", typ: "JWT" };
  const claims = { sub: user, iat: now, exp: now + lifeSeconds };
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const mac = createHmac("sha256", JWT_SECRET).update(signed).digest("base64url");
  return `${signed}.${mac}`;
}

async function call(method, path, body, headers = {}) {
  const response = await fetch(PREDICT_URL + path, {
    method,
    headers: { "x-api-key": PUBLIC_API_KEY, "content-type": "application/json", ...headers },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  }).catch((error) => fail(`${PREDICT_URL} does not answer: ${error.cause?.message ?? error.message}`));
  const answer = await response.json();
  if (response.ok) return answer;
  const [code, request] = ["error-code", "request-id"].map((name) => response.headers.get(name));
  fail(`${response.status} ${code}: ${answer.error} (${request})`);
}

const user = process.argv[2] ?? "alice";
const markets = await call("GET", "/v1/markets");
// Of the first page, the one that trades longest.
const market = markets.reduce((one, other) => (one.closeAt > other.closeAt ? one : other));
const order = { marketId: market.id, selection: { side: "yes" }, amount: 5 };
// One key for each purchase that a person asks for; a repeat sends the same key.
const trade = await call("POST", "/v1/trade", order, {
  authorization: `Bearer ${userToken(user)}`,
  "idempotency-key": randomUUID(),
});
console.log(`${user} bought ${trade.shares} YES shares for $${trade.amount}: ${trade.tradeId}`);
