import { z } from "zod";
import type { Auth, Operation } from "../contract/operation.ts";
import { type OperationId, operationIds, operations } from "../contract/operations.ts";
import { FAULT_CODES, Fault, type FaultCode } from "../domain/fault.ts";
import type { Handlers } from "../services/invoke.ts";
import { planInput } from "./input.ts";

type Json = Record<string, unknown>;

export interface OpenApiOptions {
  /** Only operations with a handler are described; all of them unless given. */
  handlers?: Handlers | undefined;
  baseUrl?: string | undefined;
}

/** Codes that only the command line uses. */
const NOT_OVER_HTTP: readonly FaultCode[] = [
  "UNREACHABLE",
  "USAGE",
  "CONFIG_INVALID",
  "REFUSED",
  "EXPECTATION_NOT_MET",
  "INTEGRITY",
];

const TAGS = {
  markets: "Markets and their prices.",
  trading: "Trades, positions and suitability of one user.",
  money: "Wallets, withdrawals and incoming payments.",
  identity: "Identity verification.",
  operations: "Reports, policy, audit and the oracle.",
};
type Tag = keyof typeof TAGS;

/** By the first segment of the path after the version; the rest is `operations`. */
const TAG_BY_SEGMENT: Record<string, Tag> = {
  markets: "markets",
  settle: "markets",
  trade: "trading",
  orders: "trading",
  positions: "trading",
  suitability: "trading",
  wallet: "money",
  withdrawals: "money",
  statement: "money",
  users: "money",
  quote: "trading",
  payments: "money",
  kyc: "identity",
};

const SECURITY: Record<Auth, Json[]> = {
  none: [],
  public: [{ apiKey: [] }],
  user: [{ apiKey: [], userToken: [] }],
  admin: [{ apiKey: [] }],
  signature: [{ signature: [] }],
};

const SECURITY_SCHEMES = {
  apiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "A public or an admin key of the tenant." },
  userToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The trader: `sub`, `iat` and `exp`.",
  },
  signature: {
    type: "apiKey",
    in: "header",
    name: "X-Signature",
    description: "HMAC-SHA256 of the raw body under the webhook secret, in hex.",
  },
};

const REFUSALS: Record<number, { name: string; description: string }> = {
  400: { name: "BadRequest", description: "The request, or the moment, does not allow it." },
  401: { name: "Unauthorized", description: "Missing or invalid credentials." },
  403: { name: "Forbidden", description: "The caller may not do this." },
  404: { name: "NotFound", description: "No such resource." },
  429: { name: "TooManyRequests", description: "The client's window is used up." },
  500: { name: "ServerError", description: "Unexpected failure." },
};

/**
 * The OpenAPI 3.1 document of the operations table: schemas are the wire side of the contract's codecs, and those with an
 * id are shared components.
 */
export function openApiDocument({ handlers, baseUrl }: OpenApiOptions = {}): Json {
  const served = operationIds.filter((id) => !handlers || handlers[id]);
  const { properties, components } = wireSchemas(served);
  const paths: Record<string, Json> = {};
  for (const id of served) {
    const operation: Operation = operations[id];
    const path = operation.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(id, operation, properties, components) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Prediction markets",
      version: "1",
      description: "Markets, trades and operations of one tenant. Amounts are US dollars, timestamps ISO 8601 in UTC.",
    },
    servers: [{ url: baseUrl ?? "/" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { ...components, Error: ERROR_SCHEMA },
      headers: HEADERS,
      responses: Object.fromEntries(
        Object.entries(REFUSALS).map(([status, { name, description }]) => [
          name,
          refusalResponse(Number(status), description),
        ]),
      ),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const ERROR_SCHEMA = {
  type: "object",
  properties: { error: { type: "string", description: "What was refused, in words." } },
  required: ["error"],
  additionalProperties: false,
};

const HEADERS = {
  "Request-Id": { description: "Names this request in the logs.", schema: { type: "string" } },
  "Retry-After": { description: "Whole seconds to wait.", schema: { type: "integer", minimum: 1 } },
  "Next-Cursor": { description: "The cursor of the next page; absent on the last.", schema: { type: "string" } },
  Link: { description: 'The next page, `rel="next"`.', schema: { type: "string" } },
  "Idempotent-Replayed": {
    description: "`true` when this is the stored first answer.",
    schema: { type: "string", const: "true" },
  },
  "RateLimit-Limit": { description: "Requests per minute.", schema: { type: "integer" } },
  "RateLimit-Remaining": { description: "Requests left in the window.", schema: { type: "integer" } },
  "RateLimit-Reset": { description: "Seconds until the window ends.", schema: { type: "integer" } },
};
const RATE_LIMIT_HEADERS = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

function headers(...names: (keyof typeof HEADERS)[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function refusalResponse(status: number, description: string): Json {
  const codes = FAULT_CODES.filter((code) => !NOT_OVER_HTTP.includes(code) && new Fault(code, "").status === status);
  const always = headers("Request-Id", ...RATE_LIMIT_HEADERS, ...(status === 429 ? (["Retry-After"] as const) : []));
  return {
    description,
    headers: { "Error-Code": { description: "For programs.", schema: { type: "string", enum: codes } }, ...always },
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}

interface WireSchemas {
  /** By `<operation>.input` and `<operation>.output`. */
  properties: Record<string, Json>;
  components: Record<string, Json>;
}

/** One conversion of all schemas together, so that zod shares what they share. */
function wireSchemas(ids: readonly OperationId[]): WireSchemas {
  const shape = ids.flatMap((id) => [
    [`${id}.input`, operations[id].input] as const,
    [`${id}.output`, operations[id].output] as const,
  ]);
  const all = z.toJSONSchema(z.object(Object.fromEntries(shape)), { target: "draft-2020-12", io: "input" });
  // zod numbers the definitions of recursive schemas without an id; the contract's only one is arbitrary JSON.
  const text = JSON.stringify(all)
    .replaceAll("#/$defs/", "#/components/schemas/")
    .replace(/__schema\d+/g, "AnyJson");
  const { properties, $defs } = JSON.parse(text) as { properties: Record<string, Json>; $defs: Record<string, Json> };
  return { properties, components: $defs };
}

function describe(
  id: OperationId,
  operation: Operation,
  properties: Record<string, Json>,
  components: Record<string, Json>,
): Json {
  const plan = planInput(operation);
  const input = properties[`${id}.input`] ?? {};
  const fields = resolve(input, components);
  const inPath = plan.path.map((name) => parameter(name, "path", fields, true));
  const inQuery =
    plan.rest === "query" ? Object.keys(fields.properties).filter((name) => !plan.path.includes(name)) : [];
  const required = (name: string) => fields.required.includes(name);
  const parameters = [
    ...inPath,
    ...inQuery.map((name) => parameter(name, "query", fields, required(name))),
    ...(operation.writes ? [IDEMPOTENCY_KEY] : []),
    ...(operation.auth === "admin" && operation.method !== "GET" ? [AUDIT_REASON] : []),
    ...(operation.auth === "signature" ? [SIGNED_AT] : []),
  ];
  return {
    operationId: id,
    summary: operation.summary.trim(),
    tags: [TAG_BY_SEGMENT[operation.path.replace(/^\/v1/, "").split("/")[1] ?? ""] ?? "operations"],
    security: [...SECURITY[operation.auth], ...(operation.optionalUser ? SECURITY.user : [])],
    ...(operation.extension ? { "x-extension": true } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(plan.rest === "body"
      ? { requestBody: { required: true, content: json(bodySchema(input, fields, plan.path)) } }
      : {}),
    responses: responsesOf(id, operation, properties[`${id}.output`] ?? {}),
  };
}

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description: "Repeats of the request within 24 hours get its first answer.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};
const AUDIT_REASON = {
  name: "Audit-Reason",
  in: "header",
  description: "The operator's words for the audit entry.",
  schema: { type: "string", maxLength: 500 },
};
const SIGNED_AT = {
  name: "X-Timestamp",
  in: "header",
  description: "When it was signed: seconds or ISO 8601, within five minutes.",
  schema: { type: "string" },
};

interface Fields {
  properties: Record<string, Json>;
  required: string[];
}

/** The fields of an object schema, whether it stands here or among the components. */
function resolve(schema: Json, components: Record<string, Json>): Fields {
  const target = typeof schema.$ref === "string" ? components[schema.$ref.replace(/^.*\//, "")] : schema;
  return { properties: {}, required: [], ...target };
}

function parameter(name: string, where: "path" | "query", fields: Fields, required: boolean): Json {
  const { description, ...schema } = fields.properties[name] ?? {};
  return { name, in: where, required, ...(description === undefined ? {} : { description }), schema };
}

/** What the path does not carry. */
function bodySchema(input: Json, fields: Fields, inPath: readonly string[]): Json {
  if (inPath.length === 0) return input;
  const { properties, required, ...rest } = fields;
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !inPath.includes(name))),
    required: required.filter((name) => !inPath.includes(name)),
  };
}

function json(schema: Json): Json {
  return { "application/json": { schema } };
}

function responsesOf(id: OperationId, operation: Operation, output: Json): Json {
  const { auth, paged, writes, csv, optionalUser } = operation;
  const content = csv ? { ...json(output), "text/csv": { schema: { type: "string" } } } : json(output);
  const answered = headers(
    "Request-Id",
    ...RATE_LIMIT_HEADERS,
    ...(paged ? (["Next-Cursor", "Link"] as const) : []),
    ...(writes ? (["Idempotent-Replayed"] as const) : []),
  );
  const refused = [400, 429, 500];
  if (auth !== "none") refused.push(401, 404);
  if (auth === "user" || auth === "admin" || optionalUser) refused.push(403);
  return {
    200: { description: "Done.", headers: answered, content },
    ...(id === "getHealth"
      ? { 503: { description: "The database is away.", headers: answered, content: json(output) } }
      : {}),
    ...Object.fromEntries(
      refused.map((status) => [status, { $ref: `#/components/responses/${REFUSALS[status]?.name}` }]),
    ),
  };
}
