import { z } from "zod";
import { streamEvents } from "../../contract/resources/stream.ts";
import { webhookBodies, webhookEventTypes, webhookOperationId } from "../../contract/resources/webhooks.ts";
import { toldEvent } from "./examples/answers.ts";
import { exampleOf } from "./examples/example-of.ts";
import { CLOSE_AT, MARKET, PRICES, TRADED_AT } from "./examples/story.ts";
import { headerParameter, type JsonObject } from "./openapi-parts.ts";
import { wireSchema } from "./openapi-schemas.ts";

/** The schemas of the stream's and of the outgoing events, as components. */
export function eventComponents(): Record<string, JsonObject> {
  return wireSchema(z.object({ ...streamEvents, ...webhookBodies })).$defs;
}

const EXAMPLE = `: connected

event: snapshot
id: 41
data: {"markets":[{"marketId":"${MARKET}","yesPrice":0.5,"noPrice":0.5,"status":"open","closeAt":"${CLOSE_AT}"}]}

event: price
data: {"marketId":"${MARKET}","yesPrice":${PRICES.yes},"noPrice":${PRICES.no},"ts":"${TRADED_AT}"}

`;

export const STREAM_DESCRIPTION = `Server-sent events, to be read with \`fetch\`: an \`EventSource\` cannot send the key. The first event is a \`snapshot\` of
the open markets (or of those in \`markets\`), then \`price\`, \`trade\` and \`market\` tell what happens, and with a user token
or the session cookie \`fill\` tells the user's own trades. The ids resume: with \`Last-Event-ID\` the stream goes on behind
that event, or begins with a snapshot when too much was missed. A comment every 15 s shows that it is alive. \`resync\` ends
the stream: the client was too slow, its credentials ended, or the server shuts down. A stream counts as one request.`;

export const LAST_EVENT_ID = headerParameter("Last-Event-ID", "The id of the last event that was read.", {
  type: "string",
  pattern: "^\\d{1,18}$",
});

/** The `content` of the answer, which is no JSON. */
export function streamContent(): JsonObject {
  const events = Object.entries(streamEvents).map(([name, schema]) => [
    name,
    { $ref: `#/components/schemas/${String(schema.meta()?.id)}` },
  ]);
  return {
    "text/event-stream": {
      schema: { type: "string", contentSchema: { anyOf: events.map(([, data]) => data) } },
      example: EXAMPLE,
      "x-events": Object.fromEntries(events),
    },
  };
}

/** What every delivery has in common. */
export const SCHEME = `Deliveries are signed by the Standard Webhooks scheme: \`webhook-signature\` holds one or more \`v1,<base64>\`,
separated by spaces, each the HMAC-SHA256 of \`<webhook-id>.<webhook-timestamp>.<body>\`. Verify the bytes that arrived, and
reject a timestamp that is more than five minutes off. An event may arrive more than once, with the same \`webhook-id\`, and
events may arrive in another order: sort them by \`sequence\`.`;

export const RETRIES = `A 2xx within ten seconds accepts the event. The server follows no redirects. After any other response it sends the
event again after 5 s, 30 s, 2 min, 10 min, 1 h, 6 h and 24 h, or later if \`Retry-After\` asks for it. A 410 ends all
deliveries to the receiver.`;

const header = (name: string, description: string, example: string): JsonObject => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
  example,
});

const HEADERS = [
  header(
    "webhook-id",
    "The event's own id, the same whenever it is sent: the key against repeats.",
    "evt_42_0f3a9c51d2e87b64",
  ),
  header("webhook-timestamp", "When this attempt was made: seconds since the epoch.", "1798761600"),
  header(
    "webhook-signature",
    "Signatures under all active secrets.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ),
];

/**
 * The `webhooks` section: the requests that receivers get.
 * @param components all schemas of the document, for the examples
 */
export function webhookSection(components: Record<string, JsonObject>): Record<string, JsonObject> {
  return Object.fromEntries(
    webhookEventTypes.map((type) => {
      const { id, description } = webhookBodies[type].meta() ?? {};
      const schema = { $ref: `#/components/schemas/${String(id)}` };
      const operation = {
        operationId: webhookOperationId(type),
        summary: description,
        description: `${SCHEME}\n\n${RETRIES}`,
        "x-extension": true,
        security: [],
        parameters: HEADERS,
        requestBody: {
          required: true,
          content: { "application/json": { schema, example: toldEvent(type) ?? exampleOf(schema, components) } },
        },
        responses: {
          "2XX": { description: "Taken." },
          410: { description: "Nothing more is wanted: the receiver is disabled." },
          default: { description: "Sent again later." },
        },
      };
      return [type, { post: operation }];
    }),
  );
}
