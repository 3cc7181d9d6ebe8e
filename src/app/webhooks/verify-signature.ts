import { formatPath } from "../../config/config-error.ts";
import { inboundSecretsOf } from "../../config/secrets/secret-places.ts";
import { INBOUND_ENDPOINTS, type InboundEndpoint } from "../../contract/constants.ts";
import { SIGNATURE_FAULTS } from "../../domain/access/signature-faults.ts";
import { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { type EndpointSecrets, inboundFault } from "../../providers/endpoint.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import type { Scheme } from "./as-provider.ts";

/** The schemes as people know them. */
export const SCHEME_NAMES: Readonly<Record<Scheme, string>> = {
  v1: "v1, X-Signature",
  v2: "v2, Standard Webhooks",
};

/** A received webhook: its exact bytes, and the values of its headers. */
export interface ReceivedWebhook {
  body: Buffer;
  /** The `webhook-signature` or the `X-Signature`. */
  signature: string;
  /** The `webhook-id`. */
  id?: string | undefined;
  /** The `webhook-timestamp` or the `X-Timestamp`. */
  timestamp?: string | undefined;
  /** The endpoint that received it; without one, the secrets of all endpoints count, and both schemes. */
  endpoint?: InboundEndpoint | undefined;
}

/**
 * Verifies a webhook as the endpoint does, and returns the scheme that its signature shows.
 * @throws Fault SIGNATURE_INVALID names the part that failed; USAGE when a signed header is missing
 */
export function verifyWebhook(tenant: OperatorTenant, { body, endpoint, ...webhook }: ReceivedWebhook): Scheme {
  const scheme = schemeOf(webhook.signature);
  const headers = headersOf(scheme, webhook);
  const fault = inboundFault(body, (name) => headers[name], secretsOf(tenant, endpoint), wallClockMs());
  if (fault === undefined) return scheme;
  const [says, remedy] = SIGNATURE_FAULTS[fault];
  throw new Fault("SIGNATURE_INVALID", `Invalid signature (${SCHEME_NAMES[scheme]}): ${says}; ${remedy}`);
}

/** A signature of Standard Webhooks begins with its version; the other one is hex. */
function schemeOf(signature: string): Scheme {
  return /^v\d/.test(signature) ? "v2" : "v1";
}

function headersOf(
  scheme: Scheme,
  { signature, id, timestamp }: Omit<ReceivedWebhook, "body" | "endpoint">,
): Readonly<Record<string, string | undefined>> {
  if (scheme === "v1") {
    if (id !== undefined)
      throw new Fault(
        "USAGE",
        "--id belongs to a webhook-signature, which begins with v1, and this --signature is hex",
      );
    return { "x-signature": signature, "x-timestamp": timestamp };
  }
  if (id === undefined || timestamp === undefined)
    throw new Fault("USAGE", "A webhook-signature covers two more headers: add --id and --timestamp with their values");
  return { "webhook-signature": signature, "webhook-id": id, "webhook-timestamp": timestamp };
}

function secretsOf(tenant: OperatorTenant, endpoint: InboundEndpoint | undefined): EndpointSecrets {
  const { config } = tenant;
  const lists = (endpoint ? [endpoint] : INBOUND_ENDPOINTS).map((each) => inboundSecretsOf(config, each));
  // Reads the shared list once, although several endpoints use it.
  const named = new Map(lists.map((list) => [formatPath(list.path), list]));
  const secrets = [...named.values()].flatMap(({ references, path }) =>
    references.map((reference, index) => tenant.secret(reference, [...path, index])),
  );
  return { secrets, scheme: (endpoint && config.webhooks.inbound[endpoint]?.scheme) ?? "any" };
}
