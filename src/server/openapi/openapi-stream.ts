import { z } from "zod";
import { streamEvents } from "../../contract/resources/stream.ts";
import { CLOSE_AT, MARKET, PRICES, TRADED_AT } from "./examples/story.ts";
import { headerParameter, type JsonObject } from "./openapi-parts.ts";
import { wireSchema } from "./openapi-schemas.ts";

/** The schemas of the stream's events, as components. */
export function streamComponents(): Record<string, JsonObject> {
  return wireSchema(z.object(streamEvents)).$defs;
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
