// The operations, events and types of the OpenAPI document as HTML.
import { webhookBodies, webhookEventTypes } from "../../dist/contract/resources/webhooks.js";
import { isFaultCode } from "../../dist/domain/fault.js";
import { RETRIES, SCHEME } from "../../dist/server/openapi/openapi-events.js";
import { withoutOrder } from "../../dist/server/openapi/openapi-refusals.js";
import { usedComponents } from "../../dist/server/openapi/openapi-schemas.js";
import { curlOf } from "./curl.js";
import { block, paragraphs, pathOf, prose, table, text } from "./html.js";

/** The OpenAPI document for its pages: operations by tag with the types that they use, events, and the address. */
export function referenceOf(document) {
  const { info, servers, tags, paths, webhooks, components } = document;
  const schemas = components?.schemas ?? {};
  const operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => describe(path, method, operation)),
  );
  const groups = tags.map(({ name, description }) => {
    const members = operations.filter(({ tag }) => tag === name);
    // The introduction alone explains the errors' type.
    const { Error: _, ...types } = usedComponents({ members }, schemas);
    return { name: String(name), description: String(description), operations: members, types };
  });
  const events = webhookEventTypes.map((type) => ({
    type,
    summary: String(webhookBodies[type].meta()?.description),
    operation: webhooks[type]?.post ?? {},
  }));
  return {
    title: String(info?.title),
    baseUrl: (servers[0]?.url ?? "").replace(/\/$/, ""),
    groups,
    events,
    eventTypes: usedComponents({ events }, schemas),
  };
}

function describe(path, method, operation) {
  const codes = operation["x-refusals"];
  return {
    id: String(operation.operationId),
    path,
    method: method.toUpperCase(),
    tag: operation.tags[0] ?? "",
    summary: String(operation.summary),
    isExtension: operation["x-extension"] === true,
    refusals: codes.filter(isFaultCode),
    operation,
  };
}

/** The operations of one tag, each with a command that runs, and the types that they use. */
export function groupPage(group, { baseUrl }) {
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

/** The events that receivers get. */
export function webhooksPage({ events, eventTypes }) {
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

function partsOf(ids, types) {
  const hasTypes = Object.keys(types).length > 0;
  return [
    ...ids.map((id) => ({ href: `#${id}`, label: id })),
    ...(hasTypes ? [{ href: "#types", label: "Types" }] : []),
  ];
}

function typeSection(types) {
  const entries = Object.entries(types);
  if (entries.length === 0) return "";
  return `<h2 id="types">Types</h2>${entries.map(([name, schema]) => typeArticle(name, schema)).join("")}`;
}

function operationArticle(described, baseUrl) {
  const { id, method, path, summary, isExtension, operation } = described;
  const scope = operation["x-scope"];
  return `<article id="${text(id)}"><h3><span class="method">${method}</span><code>${text(path)}</code><span class="mark">${text(id)}</span>${
    isExtension ? '<span class="mark">extension</span>' : ""
  }</h3><p>${prose(summary)} <span class="soft">${securityOf(operation.security)}${
    scope ? ` Scope <code>${text(scope)}</code>.` : ""
  }</span></p>${paragraphs(withoutOrder(String(operation.description)))}${block(
    curlOf(described, baseUrl),
    `curl for ${id}`,
  )}${parametersOf(operation)}${bodyOf(operation)}${answerOf(operation, id)}${refusalsOf(described)}</article>`;
}

function eventArticle({ type, summary, operation }) {
  const { schema, example } = jsonOf(operation.requestBody) ?? {};
  return `<article id="${text(type)}"><h3><code>${text(type)}</code></h3><p>${prose(summary)} ${typeOf(
    schema,
  )}</p>${block(JSON.stringify(example, null, 2), `body of ${type}`)}</article>`;
}

function parametersOf({ parameters }) {
  const rows = (parameters ?? []).map((one) => [
    `<code>${text(one.name)}</code>`,
    text(one.in),
    typeOf(one.schema),
    `${one.required ? "required. " : ""}${prose(one.description)}`,
  ]);
  return rows.length === 0 ? "" : `<h4>Parameters</h4>${table(["Name", "In", "Type", "Meaning"], rows)}`;
}

/** The fields of the body; the command above has an example. */
function bodyOf({ requestBody }) {
  const content = requestBody === undefined ? undefined : jsonOf(requestBody);
  return content ? `<h4>Body</h4>${shapeOf(content.schema)}` : "";
}

function answerOf({ responses }, id) {
  const { content } = responses["200"] ?? {};
  return Object.entries(content ?? {})
    .map(([type, { schema, example }]) => {
      const sample = typeof example === "string" ? example : JSON.stringify(example, null, 2);
      const shown = sample === undefined ? "" : block(sample, `answer of ${id} as ${type}`);
      return `<h4>Answer, <code>${text(type)}</code></h4>${shapeOf(schema)}${shown}`;
    })
    .join("");
}

function jsonOf({ content }) {
  return content?.["application/json"];
}

/** Only the codes, because one page explains them. */
function refusalsOf({ refusals, operation }) {
  const items = refusals.map((code) => {
    const statuses = Object.entries(operation.responses)
      .filter(([, { headers }]) => headers["Error-Code"]?.schema.enum.includes(code))
      .map(([status]) => status);
    return `<li><a href="/docs/refusals#${code}"><code>${code}</code></a> ${statuses.join(" or ")}</li>`;
  });
  return `<h4>Errors, in order of precedence</h4><ul class="codes">${items.join("")}</ul>`;
}

const CREDENTIALS = {
  apiKey: "an API key",
  userToken: "a user token",
  sessionCookie: "the session cookie",
  signature: "an <code>X-Signature</code>",
  messageSignature: "a <code>webhook-signature</code>",
  stripeSignature: "a <code>Stripe-Signature</code>",
};

function securityOf(security) {
  const ways = security.map((way) =>
    Object.keys(way)
      .map((name) => CREDENTIALS[name] ?? text(name))
      .join(" and "),
  );
  return ways.length === 0 ? "No credentials." : `Needs ${ways.join(", or ")}.`;
}

const FIELD_HEADS = ["Field", "Type", "Meaning"];

export function typeArticle(name, schema) {
  return `<article id="type-${text(name)}"><h3>${text(name)}</h3><p class="soft">${prose(schema.description)}</p>${shapeOf(
    schema,
  )}</article>`;
}

/** The fields of an object without a name of its own, else its type. */
export function shapeOf(schema) {
  const rows = fieldsOf(schema);
  return rows.length > 0 ? table(FIELD_HEADS, rows) : `<p>${typeOf(schema)}</p>`;
}

/** A line for each field. The fields of an inner object follow it, as `selection.side` and `tiers[].minScore`. */
function fieldsOf(schema, within = "") {
  const required = schema.required ?? [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const path = `${within}${name}`;
    const words = `${required.includes(name) ? "" : "optional. "}${prose(part.description)}`;
    const isList = part.type === "array";
    const inner = isList ? (part.items ?? {}) : part;
    return [
      [`<code>${text(path)}</code>`, typeOf(part), words],
      ...(inner.$ref === undefined ? fieldsOf(inner, `${path}${isList ? "[]" : ""}.`) : []),
    ];
  });
}

export function typeOf(schema) {
  if (!schema) return "";
  if (typeof schema.$ref === "string") {
    const name = text(schema.$ref.replace(/^.*\//, ""));
    return `<a href="#type-${name}">${name}</a>`;
  }
  if (schema.const !== undefined) return `<code>${text(JSON.stringify(schema.const))}</code>`;
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `<code>${text(value)}</code>`).join(" | ");
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map(typeOf).join(" | ");
  if (schema.type === "array") return `array of ${typeOf(schema.items)}`;
  const bounds = ["minimum", "maximum", "minLength", "maxLength"].filter((bound) => schema[bound] !== undefined);
  const limits = bounds.map((bound) => `${bound} ${text(schema[bound])}`).join(", ");
  const types = [schema.type ?? "any"].flat().join(" | ");
  return `${text(types)}${limits ? ` <span class="soft">(${limits})</span>` : ""}`;
}
