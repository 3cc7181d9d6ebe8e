import { schemaDocument } from "../../src/app/schema-documents.ts";
import { operations } from "../../src/contract/operations.ts";
import { streamOperation } from "../../src/contract/resources/stream.ts";
import { UNKNOWN_PARAMETERS } from "../../src/server/openapi/openapi-parts.ts";
import { refusalsOf } from "../../src/server/openapi/openapi-refusals.ts";
import { cell, code, NOTE, row, table } from "./markdown.ts";

interface Parameter {
  name: string;
  in: string;
  description?: string;
}

interface ApiOperation {
  tags?: string[];
  operationId: string;
  summary?: string;
  parameters?: Parameter[];
  security?: Record<string, unknown>[];
  requestBody?: { content: Record<string, { schema: BodySchema }> };
  responses: Record<string, { description: string }>;
}

interface BodySchema {
  properties?: Record<string, { description?: string; $ref?: string }>;
  required?: string[];
}

interface Components {
  schemas: Record<string, { description?: string }>;
  securitySchemes: Record<string, { name?: string; description?: string }>;
}

type Described = ApiOperation & { request: string };

/** A parameter of as many operations is explained once. */
const COMMON = 5;

export async function apiPage(): Promise<string> {
  const { paths, components } = (await schemaDocument("openapi")) as unknown as {
    paths: Record<string, Record<string, ApiOperation>>;
    components: Components;
  };
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): Described => ({
        ...operation,
        parameters: [...(operation.parameters ?? []), ...signedParts(operation, components)],
        request: `${method.toUpperCase()} ${path}`,
      }),
    ),
  );
  const uses = Map.groupBy(
    described.flatMap(({ parameters = [] }) => parameters),
    ({ name, description = "" }) => `${name} ${description}`,
  );
  const common = [...uses.values()].flatMap(([first, ...more]) => (first && more.length + 1 >= COMMON ? [first] : []));
  const byTag = Map.groupBy(described, ({ tags = ["other"] }) => tags[0] ?? "other");
  const sections = [...byTag].map(
    ([tag, inTag]) => `## ${tag}\n\n${inTag.map((each) => operationSection(each, common)).join("\n\n")}`,
  );
  return `${[
    "# API",
    `Every request by tag. \`/docs\` of a running server has the bodies with examples, and \`/openapi.json\` describes them for programs. ${UNKNOWN_PARAMETERS} ${NOTE}`,
    "## Parameters of many requests",
    parameterTable(common),
    "## Errors",
    "Each request lists its [error codes](errors.md). Of several reasons to refuse, the first of the list is told. A code is in the header `Error-Code`.",
    ...sections,
  ].join("\n\n")}\n`;
}

/** Of a webhook that its sender signs: the headers of the signature and the fields of the body, of which programs make both. */
function signedParts(
  { security = [], requestBody }: ApiOperation,
  { schemas, securitySchemes }: Components,
): Parameter[] {
  const schemes = security.flatMap((each) => Object.keys(each)).filter((name) => /signature/i.test(name));
  if (schemes.length === 0) return [];
  const headers = schemes.map((name) => ({ name: "", ...securitySchemes[name], in: "header" }));
  const { properties = {}, required = [] } = requestBody?.content["application/json"]?.schema ?? {};
  const fields = Object.entries(properties).map(([name, { description, $ref = "" }]) => {
    const told = description ?? schemas[$ref.slice($ref.lastIndexOf("/") + 1)]?.description ?? "";
    return { name, in: required.includes(name) ? "body, required" : "body", description: told };
  });
  return [...headers, ...fields];
}

function operationSection(
  { request, operationId, summary = "", parameters = [], responses }: Described,
  common: Parameter[],
): string {
  const isCommon = (each: Parameter) =>
    common.some(({ name, description }) => name === each.name && description === each.description);
  const own = parameters.filter((each) => !isCommon(each));
  const shared = parameters.filter(isCommon).map(({ name }) => code(name));
  return [
    `### ${operationId}`,
    code(request),
    cell(summary),
    ...(own.length === 0 ? [] : [parameterTable(own)]),
    ...(shared.length === 0 ? [] : [`Also takes ${shared.join(", ")}.`]),
    ...answers(operationId, responses),
  ].join("\n\n");
}

function parameterTable(parameters: readonly Parameter[]): string {
  return table(
    ["parameter", "in", "what it is"],
    parameters.map((each) => row(code(each.name), each.in, cell(each.description ?? ""))),
  );
}

/** The answers beside the usual one, and the error codes in the order of their checks. */
function answers(id: string, responses: ApiOperation["responses"]): string[] {
  const operation = Object.entries(operations).find(([name]) => name === id)?.[1] ?? streamOperation;
  const told = Object.entries(responses)
    .filter(([, { description }]) => description !== "Done." && !/^`[A-Z_]+`/.test(description))
    .map(([status, { description }]) => `${status}: ${cell(description)}`);
  return [...told, `Errors: ${refusalsOf(operation).map(code).join(", ")}.`];
}
