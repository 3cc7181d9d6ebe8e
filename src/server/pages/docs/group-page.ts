import { faultFacts } from "../../../domain/fault.ts";
import type { JsonObject } from "../../openapi/openapi-parts.ts";
import { withoutOrder } from "../../openapi/openapi-refusals.ts";
import { RETRIES, SCHEME } from "../../openapi/openapi-webhooks.ts";
import { escapeHtml as text } from "../html.ts";
import { curlOf } from "./curl.ts";
import { block, paragraphs, prose, table } from "./html.ts";
import { type Page, pathOf } from "./layout.ts";
import type { DeliveredEvent, Described, Group, Reference } from "./reference.ts";
import { shapeOf, typeArticle, typeOf } from "./types.ts";

/** The operations of one tag, each with a command that runs, and the types that they name. */
export function groupPage(group: Group, { baseUrl }: Reference): Page {
  const { name, description, operations, types } = group;
  return {
    path: pathOf(name),
    title: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    content: `<p class="soft">${prose(description)}</p><h2 id="operations">Operations</h2>${operations
      .map((each) => operationArticle(each, baseUrl))
      .join("")}${typeSection(types)}`,
    parts: partsOf(
      operations.map(({ id }) => id),
      types,
    ),
  };
}

/** What receivers of events are sent. */
export function webhooksPage({ events, eventTypes }: Reference): Page {
  return {
    path: "/docs/webhooks",
    title: "Webhooks",
    content: `${paragraphs(`Requests that the service sends to the receivers of the tenant file.\n\n${SCHEME}\n\n${RETRIES}`)}<h2 id="events">Events</h2>${events
      .map(eventArticle)
      .join("")}${typeSection(eventTypes)}`,
    parts: partsOf(
      events.map(({ type }) => type),
      eventTypes,
    ),
  };
}

function partsOf(ids: readonly string[], types: Record<string, JsonObject>): NonNullable<Page["parts"]> {
  const hasTypes = Object.keys(types).length > 0;
  return [
    ...ids.map((id) => ({ href: `#${id}`, label: id })),
    ...(hasTypes ? [{ href: "#types", label: "Types" }] : []),
  ];
}

function typeSection(types: Record<string, JsonObject>): string {
  const entries = Object.entries(types);
  if (entries.length === 0) return "";
  return `<h2 id="types">Types</h2>${entries.map(([name, schema]) => typeArticle(name, schema)).join("")}`;
}

function operationArticle(described: Described, baseUrl: string): string {
  const { id, method, path, summary, isExtension, operation } = described;
  const scope = operation["x-scope"];
  return `<article id="${text(id)}"><h3><span class="method">${method}</span><code>${text(path)}</code><span class="mark">${text(id)}</span>${
    isExtension ? '<span class="mark">extension</span>' : ""
  }</h3><p>${prose(summary)} <span class="soft">${securityOf(operation.security as JsonObject[])}${
    scope ? ` Scope <code>${text(scope)}</code>.` : ""
  }</span></p>${paragraphs(withoutOrder(String(operation.description)))}${block(
    curlOf(described, baseUrl),
    `curl for ${id}`,
  )}${parametersOf(operation)}${bodyOf(operation)}${answerOf(operation, id)}${refusalsOf(described)}</article>`;
}

function eventArticle({ type, summary, operation }: DeliveredEvent): string {
  const { schema, example } = jsonOf(operation.requestBody as JsonObject) ?? ({} as JsonObject);
  return `<article id="${text(type)}"><h3><code>${text(type)}</code></h3><p>${prose(summary)} ${typeOf(
    schema as JsonObject,
  )}</p>${block(JSON.stringify(example, null, 2), `body of ${type}`)}</article>`;
}

function parametersOf({ parameters }: JsonObject): string {
  const rows = ((parameters ?? []) as (JsonObject & { schema: JsonObject })[]).map((one) => [
    `<code>${text(one.name)}</code>`,
    text(one.in),
    typeOf(one.schema),
    `${one.required ? "required. " : ""}${prose(one.description)}`,
  ]);
  return rows.length === 0 ? "" : `<h4>Parameters</h4>${table(["Name", "In", "Type", "Meaning"], rows)}`;
}

/** The example stands in the command above; here are the fields. */
function bodyOf({ requestBody }: JsonObject): string {
  const content = requestBody === undefined ? undefined : jsonOf(requestBody as JsonObject);
  return content ? `<h4>Body</h4>${shapeOf(content.schema as JsonObject)}` : "";
}

function answerOf({ responses }: JsonObject, id: string): string {
  const { content } = (responses as Record<string, JsonObject>)["200"] ?? {};
  return Object.entries((content ?? {}) as Record<string, JsonObject>)
    .map(([type, { schema, example }]) => {
      const sample = typeof example === "string" ? example : JSON.stringify(example, null, 2);
      const shown = sample === undefined ? "" : block(sample, `answer of ${id} as ${type}`);
      return `<h4>Answer, <code>${text(type)}</code></h4>${shapeOf(schema as JsonObject)}${shown}`;
    })
    .join("");
}

function jsonOf({ content }: JsonObject): JsonObject | undefined {
  return (content as Record<string, JsonObject> | undefined)?.["application/json"];
}

/** Codes alone: what each means stands in one place. */
function refusalsOf({ refusals }: Described): string {
  const items = refusals.map(
    (code) => `<li><a href="/docs/refusals#${code}"><code>${code}</code></a> ${faultFacts(code).status}</li>`,
  );
  return `<h4>Refusals, of several the first</h4><ul class="codes">${items.join("")}</ul>`;
}

const CREDENTIALS: Record<string, string> = {
  apiKey: "an API key",
  userToken: "a user token",
  sessionCookie: "the session cookie",
  signature: "an <code>X-Signature</code>",
  messageSignature: "a <code>webhook-signature</code>",
  stripeSignature: "a <code>Stripe-Signature</code>",
};

function securityOf(security: JsonObject[]): string {
  const ways = security.map((way) =>
    Object.keys(way)
      .map((name) => CREDENTIALS[name] ?? text(name))
      .join(" and "),
  );
  return ways.length === 0 ? "No credentials." : `Needs ${ways.join(", or ")}.`;
}
