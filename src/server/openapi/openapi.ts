import { z } from "zod";
import { AUDIT_LINES } from "../../contract/constants.ts";
import { isPublicRead, type Operation, TAGS } from "../../contract/operation.ts";
import { type OperationId, operationIds, operations } from "../../contract/operations.ts";
import { streamOperation } from "../../contract/resources/stream.ts";
import { planInput } from "../input.ts";
import { ANSWERS } from "./examples/answers.ts";
import { exampleOf } from "./examples/example-of.ts";
import { REQUESTS } from "./examples/requests.ts";
import { eventComponents, LAST_EVENT_ID, STREAM_DESCRIPTION, streamContent, webhookSection } from "./openapi-events.ts";
import {
  AUDIT_REASON,
  DESCRIPTION,
  ERROR_SCHEMA,
  HEADERS,
  IDEMPOTENCY_FINGERPRINT,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  IF_NONE_MATCH,
  type JsonObject,
  MESSAGE_ID,
  MESSAGE_TIME,
  POLICY_TTL,
  PROVIDER_SCHEMES,
  RATE_LIMIT_HEADERS,
  SEAL_HEADERS,
  SECURITY,
  SECURITY_SCHEMES,
  SIGNED_AT,
  VERIFIED_HEADERS,
} from "./openapi-parts.ts";
import { orderOfRefusals, refusalResponses, refusalsOf } from "./openapi-refusals.ts";
import { usedComponents, wireSchema } from "./openapi-schemas.ts";

export interface OpenApiOptions {
  /** The operations to describe; all by default. */
  served?: readonly OperationId[];
  baseUrl?: string | undefined;
  /** The tenant's name in the paths of its webhooks, for the examples. */
  tenantId?: string | undefined;
  /** Whether the stream of events is served. */
  stream?: boolean;
}

/**
 * The OpenAPI 3.1 document of the operations table. Its schemas describe the wire form of the contract's codecs;
 * schemas with an id are shared components.
 */
export function openApiDocument(options: OpenApiOptions = {}): JsonObject {
  const { served = operationIds, baseUrl, tenantId, stream = true } = options;
  const { properties, components } = wireSchemas(served);
  const paths: Record<string, JsonObject> = {};
  for (const id of served) {
    const operation: Operation = operations[id];
    const path = operation.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: describe(id, operation, { properties, components, tenantId }),
    };
  }
  if (stream) paths[streamOperation.path] = { get: describeStream() };
  Object.assign(components, eventComponents());
  const webhooks = webhookSection(components);
  return {
    openapi: "3.1.0",
    info: {
      title: "Prediction markets",
      version: "1",
      description: DESCRIPTION,
    },
    servers: [{ url: baseUrl ?? "/" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    webhooks,
    components: {
      schemas: usedComponents({ paths, webhooks }, { ...components, Error: ERROR_SCHEMA }),
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const LINES_DESCRIPTION =
  "Every entry that the filters select at the time of the request, one `AuditEntry` per line, oldest first. `limit` and `cursor` are refused. `Audit-Last-Seq` is the `seq` of the last line, or 0 for none: an answer that ends earlier is incomplete. At most four such requests run at a time.";

function headers(...names: (keyof typeof HEADERS)[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

interface WireSchemas {
  /** By `<operation>.input` and `<operation>.output`. */
  properties: Record<string, JsonObject>;
  components: Record<string, JsonObject>;
}

/** Converts all schemas together, so that zod shares common definitions. */
function wireSchemas(ids: readonly OperationId[]): WireSchemas {
  const shape = ids.flatMap((id) => [
    [`${id}.input`, operations[id].input] as const,
    [`${id}.output`, operations[id].output] as const,
  ]);
  const { properties, $defs } = wireSchema(z.object(Object.fromEntries(shape)));
  return { properties, components: $defs };
}

function describe(
  id: OperationId,
  operation: Operation,
  { properties, components, tenantId }: WireSchemas & Pick<OpenApiOptions, "tenantId">,
): JsonObject {
  const plan = planInput(operation);
  const input = properties[`${id}.input`] ?? {};
  const fields = resolve(input, components);
  const told: JsonObject = { ...REQUESTS[id], ...(tenantId === undefined ? {} : { tenantId }) };
  const parameterOf = (name: string, where: "path" | "query", required: boolean): JsonObject => ({
    ...parameter(name, where, fields, required),
    // Programs fill in required parameters, so they get a valid example.
    ...(required ? { example: told[name] ?? exampleOf(fields.properties[name] ?? {}, components) } : {}),
  });
  const inPath = plan.path.map((name) => parameterOf(name, "path", true));
  const inQuery =
    plan.rest === "query" ? Object.keys(fields.properties).filter((name) => !plan.path.includes(name)) : [];
  const isTagged = operation.tagged === true && operation.method !== "GET";
  const required = (name: string) => fields.required.includes(name);
  const parameters = [
    ...inPath,
    ...inQuery.map((name) => parameterOf(name, "query", required(name))),
    ...(operation.writes ? [IDEMPOTENCY_KEY, IDEMPOTENCY_FINGERPRINT] : []),
    ...(isTagged ? [IF_MATCH] : []),
    ...(isPublicRead(operation) ? [IF_NONE_MATCH] : []),
    ...(operation.temporary ? [POLICY_TTL] : []),
    ...(operation.auth === "admin" && operation.method !== "GET" ? [AUDIT_REASON] : []),
    ...(operation.auth === "signature" && !operation.provider ? [SIGNED_AT, MESSAGE_ID, MESSAGE_TIME] : []),
  ];
  return {
    operationId: id,
    summary: operation.summary.trim(),
    description: orderOfRefusals(operation),
    ...(operation.extension ? { "x-extension": true } : {}),
    ...(operation.scope ? { "x-scope": operation.scope } : {}),
    "x-refusals": refusalsOf(operation),
    tags: [operation.tag],
    security: operation.provider
      ? [{ [PROVIDER_SCHEMES[operation.provider]]: [] }]
      : [...SECURITY[operation.auth], ...(operation.optionalUser ? SECURITY.user : [])],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(plan.rest === "body"
      ? {
          requestBody: {
            required: !plan.bodyIsOptional,
            content: json(bodySchema(input, fields, plan.path), components, exampleBody(id, plan.path)),
          },
        }
      : {}),
    responses: responsesOf(operation, {
      ...json(properties[`${id}.output`] ?? {}, components, ANSWERS[id]),
      ...(operation.lines ? { [AUDIT_LINES]: { schema: { type: "string", description: LINES_DESCRIPTION } } } : {}),
      ...(operation.csv ? { "text/csv": { schema: { type: "string" } } } : {}),
    }),
  };
}

interface Fields {
  properties: Record<string, JsonObject>;
  required: string[];
}

/** The fields of an object schema, whether it is inline or a component. */
function resolve(schema: JsonObject, components: Record<string, JsonObject>): Fields {
  const target = typeof schema.$ref === "string" ? components[schema.$ref.replace(/^.*\//, "")] : schema;
  return { properties: {}, required: [], ...target };
}

function parameter(name: string, where: "path" | "query", fields: Fields, required: boolean): JsonObject {
  const { description, ...schema } = fields.properties[name] ?? {};
  return { name, in: where, required, ...(description === undefined ? {} : { description }), schema };
}

/** The fields that the path does not carry. */
function bodySchema(input: JsonObject, fields: Fields, inPath: readonly string[]): JsonObject {
  if (inPath.length === 0) return input;
  const { properties, required, ...rest } = fields;
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !inPath.includes(name))),
    required: required.filter((name) => !inPath.includes(name)),
  };
}

/** @param told the story's example; by default an example is made from the schema */
function json(schema: JsonObject, components: Record<string, JsonObject>, told?: unknown): JsonObject {
  return { "application/json": { schema, example: told ?? exampleOf(schema, components) } };
}

/** The fields of the story's request that belong in the body. */
function exampleBody(id: OperationId, inPath: readonly string[]): JsonObject | undefined {
  const request = REQUESTS[id];
  return request && Object.fromEntries(Object.entries(request).filter(([name]) => !inPath.includes(name)));
}

function describeStream(): JsonObject {
  const { markets } = wireSchema(streamOperation.input).properties;
  const { description, ...schema } = markets ?? {};
  return {
    operationId: "streamEvents",
    summary: streamOperation.summary,
    description: `${STREAM_DESCRIPTION}\n\n${orderOfRefusals(streamOperation)}`,
    "x-extension": true,
    "x-refusals": refusalsOf(streamOperation),
    tags: [streamOperation.tag],
    security: [...SECURITY.public, ...SECURITY.user],
    parameters: [{ name: "markets", in: "query", required: false, description, schema }, LAST_EVENT_ID],
    responses: {
      200: {
        description: "The stream.",
        headers: headers("Request-Id", ...RATE_LIMIT_HEADERS),
        content: streamContent(),
      },
      ...refusalResponses(streamOperation, refusalHeaders),
    },
  };
}

const refusalHeaders = (isTimed: boolean): JsonObject =>
  headers("Request-Id", ...RATE_LIMIT_HEADERS, ...(isTimed ? (["Retry-After"] as const) : []));

/** Whether the answer may name an audit entry: providers learn only that their event arrived, and sessions write no entry. */
function mayRecord({ method, auth, path }: Operation): boolean {
  return method !== "GET" && (auth === "admin" || auth === "user") && path !== "/v1/session";
}

function responsesOf(operation: Operation, content: JsonObject): JsonObject {
  const { paged, writes, tagged, verifies, health } = operation;
  const answered = headers(
    "Request-Id",
    ...RATE_LIMIT_HEADERS,
    ...(paged ? (["Next-Cursor", "Link"] as const) : []),
    ...(writes ? (["Idempotent-Replayed"] as const) : []),
    ...(tagged || isPublicRead(operation) ? (["ETag"] as const) : []),
    ...(mayRecord(operation) ? SEAL_HEADERS : []),
    ...(verifies ? ([VERIFIED_HEADERS[verifies]] as const) : []),
  );
  return {
    200: { description: "Done.", headers: answered, content },
    ...(isPublicRead(operation) ? { 304: { description: "The client's copy is current.", headers: answered } } : {}),
    ...(health ? { 503: { description: "The database is away.", headers: answered, content } } : {}),
    ...refusalResponses(operation, refusalHeaders),
  };
}
