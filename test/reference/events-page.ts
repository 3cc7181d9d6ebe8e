import { schemaDocument } from "../../src/app/schema-documents.ts";
import { streamEvents } from "../../src/contract/resources/stream.ts";
import { webhookEvents, webhookEventTypes } from "../../src/contract/resources/webhooks.ts";
import { RETRIES, SCHEME } from "../../src/server/openapi/openapi-events.ts";
import { fieldsOfSchema, fieldTable } from "./fields.ts";
import { cell, code, NOTE, row, table } from "./markdown.ts";

interface Described {
  webhooks: Record<string, { post: Delivered }>;
  paths: { "/v1/stream": { get: { responses: { 200: { content: Record<string, { example: string }> } } } } };
}

interface Delivered {
  parameters: { name: string; description: string; example: string }[];
  requestBody: { content: { "application/json": { example: object } } };
}

const oneLine = (text: string): string => text.replaceAll("\n", " ");

export async function eventsPage(): Promise<string> {
  const { webhooks, paths } = (await schemaDocument("openapi")) as unknown as Described;
  const sections = webhookEventTypes.map((type) => {
    const schema = webhookEvents[type];
    const example = webhooks[type]?.post.requestBody.content["application/json"].example ?? {};
    return [
      `### ${type}`,
      String(schema.meta()?.description),
      fieldTable(fieldsOfSchema(schema)),
      ["```json", JSON.stringify(example), "```"].join("\n"),
    ].join("\n\n");
  });
  const headers = webhooks[webhookEventTypes[0]]?.post.parameters ?? [];
  const stream = Object.entries(streamEvents).map(([name, schema]) =>
    [`### Stream: ${name}`, String(schema.meta()?.description), fieldTable(fieldsOfSchema(schema))].join("\n\n"),
  );
  const live = paths["/v1/stream"].get.responses[200].content["text/event-stream"]?.example ?? "";
  return `${[
    "# Events",
    `What receivers of webhooks and readers of the live stream get. \`pmctl explain event.TYPE\` prints a webhook. ${NOTE} The [integrator's guide](../guides/integrator.md) has receivers in Python and Node.js.`,
    "## Webhooks",
    `Each event is a POST with \`type\`, \`timestamp\` and \`data\`. ${oneLine(SCHEME)}`,
    oneLine(RETRIES),
    table(
      ["header", "what it is", "example"],
      headers.map(({ name, description, example }) => row(code(name), cell(description), code(example))),
    ),
    "The fields of `data`, and an example of each body:",
    ...sections,
    "## Live stream",
    "`GET /v1/stream` answers server-sent events: `event` is the name, `data` has these fields.",
    ["```text", live.trimEnd(), "```"].join("\n"),
    ...stream,
  ].join("\n\n")}\n`;
}
