import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect } from "vitest";
import { newOperator, type Operator, type ServerProcess } from "../../support/operator.ts";
import { withRateLimit } from "../../support/tenant-text.ts";
import type * as is from "./shapes.ts";

/**
 * A client that knows the interface specification and nothing else, against a tenant that an operator provisioned from a
 * file.
 */
export const ROWS = `
GET /health
GET /v1/markets
GET /v1/markets/:id
GET /v1/markets/:id/history
GET /v1/markets/:id/depth
GET /v1/markets/trending
POST /v1/markets
POST /v1/markets/:id/suspend
POST /v1/markets/:id/resume
POST /v1/settle
GET /v1/oracle/status
GET /v1/hedge/exposure
POST /v1/orders
POST /v1/trade
GET /v1/positions
POST /v1/suitability
GET /v1/suitability
GET /v1/reports/overview
GET /v1/reports/house
GET /v1/reports/traders
GET /v1/reports/funding
GET /v1/risk
GET /v1/audit
GET /v1/audit/status
POST /v1/reconcile
GET /v1/policy
PUT /v1/policy
POST /kyc/inbound/:tenantId
POST /payments/inbound/:tenantId
POST /payments/stripe/:tenantId`
  .trim()
  .split("\n");

interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

type Who = "nobody" | "public" | "admin" | "trader";

let operator: Operator;
let server: ServerProcess;
export let secrets: Record<string, string>;
let token: string;
/** Rows that were called. */
export const walked = new Set<string>();

beforeAll(async () => {
  operator = await newOperator();
  const done = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await operator.run(...args, "-o", "json");
    if (exitCode !== 0) throw new Error(`pmctl ${args.join(" ")}: ${stderr}`);
    return JSON.parse(stdout) as Record<string, string>;
  };
  await done("init", "acme");
  // The specification's events name no jurisdiction, and an unknown one is refused while any is blocked.
  const anywhere = (text: string) => text.replace('blocked: ["US"]', "blocked: []");
  await operator.edit("acme", (text) => withRateLimit(anywhere(text), 1_000_000));
  await done("apply", "acme", "--yes");
  server = await operator.serve("acme");
  secrets = await operator.secrets();
  token = (await done("user", "token", "usr_1")).token ?? "";
});
afterAll(() => operator?.close());

/** A request as section 5 of the specification describes it. */
export async function call(row: string, who: Who, { id = "mkt_1", query = "", body }: Call = {}): Promise<Answer> {
  if (!ROWS.includes(row)) throw new Error(`${row} is not in the endpoint table`);
  walked.add(row);
  const [method = "", path = ""] = row.split(" ");
  const headers: Record<string, string> = {};
  if (who !== "nobody") headers["x-api-key"] = secrets[who === "admin" ? "ACME_ADMIN_KEY" : "ACME_PUBLIC_KEY"] ?? "";
  if (who === "trader") headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  return send(path.replace(":id", id) + query, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
interface Call {
  id?: string;
  query?: string;
  body?: unknown;
}

async function send(path: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(server.url + path, init);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** A 200 of the shape. */
export async function answer<T>(shape: is.Shape, ...request: Parameters<typeof call>): Promise<T> {
  const { status, body, headers } = await call(...request);
  expect([request[0], status, body]).toEqual([request[0], 200, body]);
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  shape(body, request[0]);
  return body as T;
}

/** Section 7.1: a single key `error` that holds a descriptive string. */
export async function refusal(status: number, ...request: Parameters<typeof call>): Promise<string> {
  const answered = await call(...request);
  expect([request[0], answered.status, answered.body]).toEqual([
    request[0],
    status,
    { error: expect.stringMatching(/\w/) },
  ]);
  return (answered.body as { error: string }).error;
}

/** A provider's delivery, signed over its raw bytes. */
export async function deliver(row: string, event: object, signature?: (raw: string) => Record<string, string>) {
  walked.add(row);
  const raw = JSON.stringify(event);
  const hex = createHmac("sha256", secrets.ACME_WEBHOOK_SECRET ?? "")
    .update(raw)
    .digest("hex");
  const headers = { "content-type": "application/json", ...(signature?.(raw) ?? { "x-signature": hex }) };
  const path = (row.split(" ")[1] ?? "").replace(":tenantId", "acme");
  return send(path, { method: "POST", headers, body: raw });
}
