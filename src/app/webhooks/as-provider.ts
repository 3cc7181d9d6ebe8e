import { randomUUID } from "node:crypto";
import type { Fetch, Fetched } from "../../client/fetch.ts";
import { connectionFailure, faultFrom } from "../../client/http-answer.ts";
import { formatPath } from "../../config/config-error.ts";
import { destinationName } from "../../config/secrets/secret-destinations.ts";
import { inboundSecretsOf, type SecretList, sharedInboundSecrets } from "../../config/secrets/secret-places.ts";
import { INBOUND_ENDPOINTS, type InboundEndpoint } from "../../contract/constants.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { SignedHeaders } from "../../outgoing/sign.ts";
import { isMessageId, signInbound } from "../../providers/endpoint.ts";
import { signBody } from "../../providers/signature.ts";
import { signAsStripe } from "../../providers/stripe/verify.ts";
import { adminKey } from "../tenant/admin-key.ts";
import { chooseDoor, type Via } from "../tenant/door.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { type SampleWebhook, sampleFields } from "./webhook-samples.ts";

const TIMEOUT_MS = 10_000;

/** `v1` is the X-Signature of the interface specification; `v2` is Standard Webhooks, which also signs the time. */
export type Scheme = "v1" | "v2";

/** The scheme that an endpoint accepts; `v1` where it accepts both. */
function schemeTaken({ config }: OperatorTenant, endpoint: InboundEndpoint | undefined): Scheme {
  return endpoint !== undefined && config.webhooks.inbound[endpoint]?.scheme === "v2" ? "v2" : "v1";
}

interface SendOptions {
  scheme?: Scheme | undefined;
  via: Via;
  url?: string | undefined;
  /** The admin key of the tenant file with which the operator acts for the provider. */
  key?: string | undefined;
  asProvider?: boolean | undefined;
  reason?: string | undefined;
}

/**
 * Outside of a sandbox an invented webhook would forge money or standing, so the operator needs a key and a reason to
 * act for the provider.
 * @throws Fault USAGE
 */
export function checkStandingIn(
  { id, config }: Pick<OperatorTenant, "id" | "config">,
  event: string,
  { asProvider, set }: Pick<SendOptions, "asProvider"> & { set: readonly string[] },
): void {
  if (config.sandbox && !asProvider) return;
  const hasProvider = sampleFields(event).includes("provider");
  const words = hasProvider ? "--as-provider and --reason, and --set provider=NAME" : "--as-provider and --reason";
  if (!asProvider)
    throw new Fault(
      "USAGE",
      `${event} changes money or standing, and ${id} is not a sandbox: send what a provider has really reported with ${words}, under your key`,
    );
  const isNamed = set.some((assignment) => assignment.startsWith("provider="));
  if (hasProvider && !isNamed)
    throw new Fault("USAGE", "The audit log names the provider of this event: add --set provider=NAME");
}

/**
 * Sends a webhook to the tenant's running server, signed as its provider would sign it.
 *
 * @param note receives skipped servers
 * @throws Fault USAGE; UNREACHABLE when no server answers; SERVER_UNPROVEN when the process may be another one; the
 *   server's own error
 */
export async function sendAsProvider(
  tenant: OperatorTenant,
  sample: SampleWebhook,
  { scheme, via, url, key, asProvider, reason }: SendOptions,
  note: (message: string) => void,
): Promise<{ url: string; status: number }> {
  if (via === "db") throw new Fault("USAGE", "Webhooks arrive over HTTP: leave out --via db");
  // A signed deposit is worth money to any process that receives it, so it goes only where its secret may go.
  const secretName = () => {
    const [secret] = signingSecretsOf(tenant, sample.endpoint).references;
    return secret && destinationName(secret);
  };
  const server = await chooseDoor(tenant, { via: "http", url }, note, secretName);
  if (server.kind === "db") throw new Fault("UNREACHABLE", `No server of ${tenant.id} answers`);
  const target = `${server.url}${sample.path}${tenant.id}`;
  const body = JSON.stringify(sample.body);
  const signature = await signatureOf(sample, scheme, body, tenant);
  const operator = asProvider ? operatorHeaders(adminKey(tenant, key).value, reason ?? "") : {};
  const response = await post(server.fetch, target, body, { ...signature, ...operator });
  const answer = parseJson(await response.text());
  if (!response.ok) throw faultFrom(response, answer);
  return { url: target, status: response.status };
}

/** Headers that identify the operator to the server. Headers are Latin-1, and the server reads them as UTF-8. */
function operatorHeaders(apiKey: string, reason: string): Record<string, string> {
  return { "x-api-key": apiKey, "audit-reason": Buffer.from(reason).toString("latin1") };
}

async function signatureOf(
  { endpoint }: SampleWebhook,
  scheme: Scheme | undefined,
  body: string,
  tenant: OperatorTenant,
): Promise<Record<string, string>> {
  const secret = () => firstSecret(tenant, signingSecretsOf(tenant, endpoint));
  if (endpoint === "stripe") {
    if (scheme) throw new Fault("USAGE", "Stripe has its own signature: leave out --scheme");
    return { "stripe-signature": await signAsStripe(body, secret(), wallClockMs()) };
  }
  if ((scheme ?? schemeTaken(tenant, endpoint)) === "v2") return signMessageOf(Buffer.from(body), secret(), {});
  return { "x-signature": signBody(Buffer.from(body), secret()) };
}

async function post(request: Fetch, url: string, body: string, signature: Record<string, string>): Promise<Fetched> {
  try {
    return await request(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...signature },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    const { reason } = connectionFailure(error);
    throw new Fault("UNREACHABLE", `Cannot reach ${url}: ${reason}`, { cause: error });
  }
}

export interface SignOptions {
  scheme?: Scheme | undefined;
  /** The endpoint whose secret signs; v2 requires it, and v1 uses the shared secret without it. */
  endpoint?: InboundEndpoint | undefined;
  id?: string | undefined;
  /** In seconds since 1970. */
  timestamp?: number | undefined;
}

export type Signed = { signature: string } | { scheme: "v2"; headers: SignedHeaders };

/** @throws Fault USAGE for options that the scheme does not take, CONFIG_INVALID when no secret can sign */
export function signAsProvider(
  tenant: OperatorTenant,
  body: Buffer,
  { scheme: asked, endpoint, id, timestamp }: SignOptions,
): Signed {
  const scheme = asked ?? schemeTaken(tenant, endpoint);
  if (scheme !== "v2" && (id !== undefined || timestamp !== undefined))
    throw new Fault("USAGE", "--id and --timestamp are for --scheme v2");
  if (scheme === "v2" && endpoint === undefined)
    throw new Fault("USAGE", `--scheme v2 needs --endpoint: one of ${INBOUND_ENDPOINTS.join(", ")}`);
  const { config } = tenant;
  const secret = firstSecret(tenant, endpoint ? inboundSecretsOf(config, endpoint) : sharedInboundSecrets(config));
  if (scheme === "v2") return { scheme, headers: signMessageOf(body, secret, { id, timestamp }) };
  return { signature: signBody(body, secret) };
}

function signMessageOf(body: Buffer, secret: string, { id, timestamp }: Pick<SignOptions, "id" | "timestamp">) {
  const messageId = id ?? `msg_${randomUUID()}`;
  if (!isMessageId(messageId))
    throw new Fault("USAGE", "--id must be 1 to 255 visible ASCII characters without spaces and dots");
  return signInbound(messageId, body, timestamp ?? Math.floor(wallClockMs() / 1000), secret);
}

type References = Pick<SecretList, "references" | "path">;

function signingSecretsOf({ config }: OperatorTenant, endpoint: SampleWebhook["endpoint"]): References {
  if (endpoint !== "stripe") return inboundSecretsOf(config, endpoint);
  return { references: config.webhooks.inbound.stripe, path: ["webhooks", "inbound", "stripe"] };
}

/** @throws Fault CONFIG_INVALID when the tenant file names no secret, or its value is missing */
function firstSecret(tenant: OperatorTenant, { references, path }: References): string {
  const [first] = references;
  if (!first) throw new Fault("CONFIG_INVALID", `The file of ${tenant.id} names no ${formatPath(path)}`);
  return tenant.secret(first, [...path, 0]);
}
