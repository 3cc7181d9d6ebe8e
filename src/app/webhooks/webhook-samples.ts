import type { InboundEndpoint } from "../../contract/constants.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { nearest } from "../../domain/nearest.ts";

type Mapping = { [key: string]: unknown };

/** A provider's webhook before it is signed. */
export interface SampleWebhook {
  /** The endpoint whose secret signs the webhook; Stripe has its own signature. */
  endpoint: InboundEndpoint | "stripe";
  /** Path of the endpoint, without the tenant's id at its end. */
  path: string;
  body: Mapping;
}

/** The values that distinguish two events of one kind. */
interface SampleSeed {
  id: string;
  /** In milliseconds since 1970. */
  now: number;
}

const STRIPE = "stripe:";
const USER = "usr_test";
const CENTS = 10_000;

const kyc =
  (status: string) =>
  ({ now }: SampleSeed): Mapping => ({
    userId: USER,
    status,
    provider: "test",
    verifiedAt: new Date(now).toISOString(),
  });
const deposit = ({ id }: SampleSeed): Mapping => ({
  event: "deposit.completed",
  userId: USER,
  amountUsd: 100,
  txRef: `test-${id}`,
});

/** For a source of kind `push` of the tenant file. The price is a text, which keeps every digit. */
const oraclePrice = ({ now }: SampleSeed): Mapping => ({
  source: "desk",
  id: "test",
  price: "100",
  observedAt: new Date(now).toISOString(),
});

/** The object of each Stripe event, with the fields that the server reads. */
const STRIPE_OBJECTS: Readonly<Record<string, (seed: SampleSeed) => Mapping>> = {
  "payment_intent.succeeded": ({ id }) => ({
    id: `pi_${id}`,
    object: "payment_intent",
    status: "succeeded",
    amount: CENTS,
    amount_received: CENTS,
    currency: "usd",
    metadata: { userId: USER },
  }),
  "checkout.session.completed": ({ id }) => ({
    id: `cs_${id}`,
    object: "checkout.session",
    payment_status: "paid",
    payment_intent: `pi_${id}`,
    amount_total: CENTS,
    currency: "usd",
    client_reference_id: USER,
    metadata: {},
  }),
  "charge.refunded": ({ id }) => ({
    id: `ch_${id}`,
    object: "charge",
    payment_intent: `pi_${id}`,
    amount: CENTS,
    amount_refunded: CENTS,
    currency: "usd",
  }),
  "charge.dispute.created": ({ id }) => ({
    id: `dp_${id}`,
    object: "dispute",
    payment_intent: `pi_${id}`,
    amount: CENTS,
    currency: "usd",
    status: "needs_response",
  }),
};

/** Optional fields that a server reads and the samples leave out, by event. */
const OPTIONAL: Readonly<Record<string, readonly string[]>> = {
  "kyc.passed": ["jurisdiction"],
  "kyc.failed": ["jurisdiction"],
  "stripe:checkout.session.completed": ["metadata.userId"],
  "stripe:charge.refunded": ["refunds"],
};

const GENERIC: Readonly<Record<string, { endpoint: InboundEndpoint; body: (seed: SampleSeed) => Mapping }>> = {
  "kyc.passed": { endpoint: "kyc", body: kyc("passed") },
  "kyc.failed": { endpoint: "kyc", body: kyc("failed") },
  "deposit.completed": { endpoint: "payments", body: deposit },
  "oracle-price": { endpoint: "oracle", body: oraclePrice },
};

/** The events that `pmctl webhook send` knows. */
export const SAMPLE_EVENTS = [...Object.keys(GENERIC), ...Object.keys(STRIPE_OBJECTS).map((type) => STRIPE + type)];

/** The dotted fields of an event that `--set` may state. */
export function sampleFields(event: string): string[] {
  const body = sampleBody(event, { id: "", now: 0 });
  return body === undefined ? [] : [...new Set([...leaves(body), ...(OPTIONAL[event] ?? [])])];
}

function sampleBody(event: string, seed: SampleSeed): Mapping | undefined {
  if (Object.hasOwn(GENERIC, event)) return GENERIC[event]?.body(seed);
  const type = stripeType(event);
  return Object.hasOwn(STRIPE_OBJECTS, type) ? STRIPE_OBJECTS[type]?.(seed) : undefined;
}

function stripeType(event: string): string {
  return event.startsWith(STRIPE) ? event.slice(STRIPE.length) : "";
}

function leaves(body: object, path = ""): string[] {
  return Object.entries(body).flatMap(([name, value]) =>
    typeof value === "object" && value !== null ? leaves(value, `${path}${name}.`) : [path + name],
  );
}

/**
 * An event in the form of its provider, with some fields replaced. Fields of a Stripe event are those of its object,
 * such as `metadata.userId`.
 *
 * @param assignments `key=value` with dotted keys; the value stays text if the field is text, else it may be JSON
 * @throws Fault USAGE for an unknown event or field, or an impossible assignment
 */
export function sampleWebhook(event: string, assignments: readonly string[], seed: SampleSeed): SampleWebhook {
  const sample = sampleBody(event, seed);
  if (!sample) throw unknownEvent(event);
  const object = assignAll(sample, assignments, { event, known: sampleFields(event) });
  const generic = Object.hasOwn(GENERIC, event) ? GENERIC[event] : undefined;
  if (generic) return { endpoint: generic.endpoint, path: `/${generic.endpoint}/inbound/`, body: object };
  return {
    endpoint: "stripe",
    path: "/payments/stripe/",
    body: {
      id: `evt_${seed.id}`,
      object: "event",
      type: stripeType(event),
      created: Math.floor(seed.now / 1000),
      data: { object },
    },
  };
}

function unknownEvent(event: string): Fault {
  const meant = nearest(event, SAMPLE_EVENTS);
  const hint = meant === undefined ? `the events are: ${SAMPLE_EVENTS.join(", ")}` : `did you mean ${meant}?`;
  return new Fault("USAGE", `There is no event ${JSON.stringify(event)} to send; ${hint}`);
}

function assignAll(
  body: Mapping,
  assignments: readonly string[],
  { event, known }: { event: string; known: readonly string[] },
): Mapping {
  for (const assignment of assignments) {
    const split = assignment.indexOf("=");
    if (split < 1)
      throw new Fault("USAGE", `--set ${JSON.stringify(assignment)} must be KEY=VALUE, such as userId=usr_1`);
    const field = assignment.slice(0, split);
    // An unknown field would be dropped by the server, and the sample's own value would count instead.
    if (!known.includes(field)) throw unknownField(field, event, known);
    assign(body, field.split("."), assignment.slice(split + 1));
  }
  return body;
}

function unknownField(field: string, event: string, known: readonly string[]): Fault {
  const meant = nearest(field, known);
  const hint = meant === undefined ? `its fields are: ${known.join(", ")}` : `did you mean ${meant}?`;
  return new Fault("USAGE", `--set: ${event} has no field ${JSON.stringify(field)}; ${hint}`);
}

function assign(target: Mapping, [key = "", ...rest]: readonly string[], value: string): void {
  if (rest.length === 0) {
    // Parsed as JSON for numbers and null; other text is used as it is.
    const parsed = typeof target[key] === "string" ? value : parseJson(value);
    target[key] = parsed === undefined ? value : parsed;
    return;
  }
  const inner = Object.hasOwn(target, key) ? target[key] : undefined;
  const next = typeof inner === "object" && inner !== null ? (inner as Mapping) : {};
  target[key] = next;
  assign(next, rest, value);
}
