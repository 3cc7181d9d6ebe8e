import { webhookBodies, webhookEventTypes } from "../../../contract/resources/webhooks.ts";
import { type FaultCode, isFaultCode } from "../../../domain/fault.ts";
import type { JsonObject } from "../../openapi/openapi-parts.ts";
import { usedComponents } from "../../openapi/openapi-schemas.ts";

/** The OpenAPI document as its pages read it. */

export interface Described {
  id: string;
  path: string;
  method: string;
  tag: string;
  summary: string;
  isExtension: boolean;
  /** In order of precedence. */
  refusals: FaultCode[];
  operation: JsonObject;
}

/** One page of operations. */
export interface Group {
  name: string;
  description: string;
  operations: Described[];
  /** The types that its operations name, by name. */
  types: Record<string, JsonObject>;
}

export interface DeliveredEvent {
  type: string;
  summary: string;
  operation: JsonObject;
}

export interface Reference {
  title: string;
  /** Empty where the tenant's address is not known. */
  baseUrl: string;
  groups: Group[];
  events: DeliveredEvent[];
  eventTypes: Record<string, JsonObject>;
}

export function referenceOf(document: JsonObject): Reference {
  const { info, servers, tags, paths, webhooks, components } = document as Record<string, JsonObject> & {
    servers: { url: string }[];
    tags: JsonObject[];
  };
  const schemas = (components?.schemas ?? {}) as Record<string, JsonObject>;
  const operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as JsonObject).map(([method, operation]) => describe(path, method, operation as JsonObject)),
  );
  const groups = tags.map(({ name, description }): Group => {
    const members = operations.filter(({ tag }) => tag === name);
    // The refusals' type is told of once, in the introduction.
    const { Error: _, ...types } = usedComponents({ members }, schemas);
    return { name: String(name), description: String(description), operations: members, types };
  });
  const events = webhookEventTypes.map((type) => ({
    type,
    summary: String(webhookBodies[type].meta()?.description),
    operation: (webhooks as Record<string, { post: JsonObject }>)[type]?.post ?? {},
  }));
  return {
    title: String(info?.title),
    baseUrl: (servers[0]?.url ?? "").replace(/\/$/, ""),
    groups,
    events,
    eventTypes: usedComponents({ events }, schemas),
  };
}

function describe(path: string, method: string, operation: JsonObject): Described {
  const codes = operation["x-refusals"] as string[];
  return {
    id: String(operation.operationId),
    path,
    method: method.toUpperCase(),
    tag: (operation.tags as string[])[0] ?? "",
    summary: String(operation.summary),
    isExtension: operation["x-extension"] === true,
    refusals: codes.filter(isFaultCode),
    operation,
  };
}
