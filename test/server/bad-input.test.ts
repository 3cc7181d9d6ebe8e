import { createHmac } from "node:crypto";
import Stripe from "stripe";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { localApi } from "../../src/client/local-api.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { type OperationId, operations } from "../../src/contract/operations.ts";
import { Deposit } from "../../src/contract/resources/inbound.ts";
import { planInput } from "../../src/server/input.ts";
import { openApiDocument } from "../../src/server/openapi/openapi.ts";
import { badValues, type Schema } from "./support/bad-values.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY, TENANT, userToken, WEBHOOK_SECRET } from "./support/harness.ts";

type Input = Record<string, unknown>;

const STRIPE_SECRET = "whsec_stripe-of-the-tests-0123456789";
const examples = new Map<string, Input>();
for (const item of Object.values((openApiDocument() as { paths: object }).paths))
  for (const { operationId, requestBody } of Object.values(item as object))
    examples.set(operationId, requestBody?.content["application/json"].example ?? {});

/** What an operation takes, as its JSON Schema says; deposits are read in a second step. */
function schemaOf(id: OperationId): Schema {
  const { input }: Operation = operations[id];
  const convert = (schema: z.ZodType) => z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" }) as Schema;
  const { $defs = {}, $ref = "", ...rest } = convert(input);
  const own: Schema = { ...rest, ...$defs[$ref.replace(/^.*\//, "")], $defs };
  if (id !== "receivePayment") return own;
  const deposit = convert(Deposit);
  return {
    ...own,
    properties: { ...own.properties, ...deposit.properties },
    required: [...(own.required ?? []), ...(deposit.required ?? [])],
    $defs: { ...own.$defs, ...deposit.$defs },
  };
}

/** An input that is right, so that the one field that is made wrong is what is refused. */
function rightInput(id: OperationId): Input {
  const { path } = planInput(operations[id]);
  // Inside a tag every other field must be right too.
  const tag = id === "placeTrade" ? { hedgeRef: examples.get("placeOrder")?.hedgeRef } : {};
  if (id === "findIds") return { kind: "market", refs: "rain" };
  return { ...examples.get(id), ...tag, ...Object.fromEntries(path.map((name) => [name, "mkt_1"])) };
}

interface Case {
  name: string;
  field: string;
  input: Input;
}

function casesOf(id: OperationId): Case[] {
  const plan = planInput(operations[id]);
  // A webhook's tenant is part of whom it is signed for, and a path with nothing in it is another path.
  const isTold = ({ field, name }: Case) =>
    field !== "tenantId" && !(plan.path.includes(field) && name.endsWith("empty"));
  const asText = plan.rest === "query";
  return badValues(schemaOf(id), rightInput(id), {
    texts: asText ? "all" : plan.path,
    nullIsAbsent: !["keys", "config"].includes((operations[id] as Operation).scope ?? ""),
  }).filter(isTold);
}

const tenant = tenantOfTests({ stripeSecrets: [STRIPE_SECRET] });
let token: string;
beforeAll(async () => {
  token = await userToken();
});

async function overHttp(id: OperationId, input: Input): Promise<{ status: number; error: string }> {
  const { method, path, auth }: Operation = operations[id];
  const plan = planInput(operations[id]);
  const rest = Object.entries(input).filter(([name]) => !plan.path.includes(name));
  const url = path.replace(/:(\w+)/g, (_, name: string) =>
    name === "tenantId" ? TENANT : encodeURIComponent(String(input[name])),
  );
  const query =
    plan.rest === "query"
      ? `?${new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]))}`
      : "";
  const body = plan.rest === "body" ? JSON.stringify(Object.fromEntries(rest)) : undefined;
  const signatures = {
    "x-signature": createHmac("sha256", WEBHOOK_SECRET)
      .update(body ?? "")
      .digest("hex"),
    "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload: body ?? "", secret: STRIPE_SECRET }),
  };
  const response = await fetch(tenant.url + url + query, {
    method,
    headers: {
      "x-api-key": auth === "admin" ? ADMIN_KEY : PUBLIC_KEY,
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(auth === "signature" ? signatures : {}),
    },
    ...(body === undefined ? {} : { body }),
  });
  const answered = (await response.json()) as { error?: string };
  return { status: response.status, error: answered.error ?? JSON.stringify(answered) };
}

async function locally(id: OperationId, input: Input): Promise<{ status: number; error: string }> {
  const api = localApi(tenant.services.handlers, { actor: "admin:ops", user: { id: "usr_1" } });
  const call = api[id] as (input: unknown) => Promise<unknown>;
  return call(input).then(
    (value) => ({ status: 200, error: JSON.stringify(value) }),
    ({ status, message }) => ({ status, error: message }),
  );
}

const doors = [
  ["http", overHttp],
  ["local", locally],
] as const;

/** Stripe's events come over HTTP only: a process of the operator's own has no handler for them. */
const OVER_HTTP_ONLY: OperationId[] = ["receiveStripe"];

test.each(OVER_HTTP_ONLY)("%s is not found through the local door", async (id) => {
  expect(await locally(id, {})).toMatchObject({ status: 404 });
});

describe.each(doors)("through the door %s a bad value is a 400 that names its field:", (door, send) => {
  const ids = (Object.keys(operations) as OperationId[])
    .filter((id) => casesOf(id).length > 0)
    .filter((id) => door === "http" || !OVER_HTTP_ONLY.includes(id));
  test.each(ids)("%s", async (id) => {
    const wrong: string[] = [];
    for (const { name, field, input } of casesOf(id)) {
      const { status, error } = await send(id, input);
      // A request line that Node does not read to its end reaches no field.
      if (status === 431 && name.endsWith("too long")) continue;
      if (status !== 400 || !error.includes(field)) wrong.push(`${name}: ${status} ${error}`);
      expect(error.length).toBeLessThan(900);
    }
    expect(wrong).toEqual([]);
  });

  test("there are enough of them to mean something", () => {
    expect(ids.flatMap(casesOf).length).toBeGreaterThan(300);
  });
});
