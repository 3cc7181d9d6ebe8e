import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { type Command, Option } from "commander";
import { type ServerAddress, tenantFetch } from "../../app/doors/trust.ts";
import { type OperatorTenant, readOperatorTenant } from "../../app/tenant/operator-tenant.ts";
import { connectionFailure, faultFrom } from "../../client/http-answer.ts";
import { formatPath } from "../../config/config-error.ts";
import { inboundSecretsOf, type SecretList } from "../../config/secrets/inbound-secrets.ts";
import { destinationName } from "../../config/secrets/secret-destinations.ts";
import { INBOUND_ENDPOINTS, type InboundEndpoint } from "../../contract/resources/webhooks.ts";
import { wallClockMs } from "../../domain/clock.ts";
import { Fault } from "../../domain/fault.ts";
import type { SignedHeaders } from "../../outgoing/sign.ts";
import { isMessageId, signInbound } from "../../providers/endpoint.ts";
import { signBody, verifySignature } from "../../providers/signature.ts";
import { signAsStripe } from "../../providers/stripe/verify.ts";
import type { Globals, Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { epochSeconds, identifier } from "../input/parsers.ts";
import type { View } from "../output/output.ts";
import { SAMPLE_EVENTS, type SampleWebhook, sampleWebhook } from "./webhook-samples.ts";

const TIMEOUT_MS = 10_000;
/** The server takes no larger webhook either. */
const MAX_BODY_BYTES = 256 * 1024;

/** The verbs of `webhook` that stand in for a provider. */
export function registerSending(noun: Command, host: Host): void {
  noun
    .command("send")
    .description("send an event to the running server, signed as its provider would")
    .argument("<event>", SAMPLE_EVENTS.join(", "), identifier)
    .option("--set <key=value>", "a field of the event, such as userId=usr_1; may be repeated", collect, [])
    .addOption(schemeOption("what the endpoint takes"))
    .action(
      host.action<{ set: string[]; scheme?: Scheme }>(async ({ options, args: [event = ""], io }) => {
        const { scheme } = options;
        const sample = sampleWebhook(event, options.set, { id: randomUUID(), now: wallClockMs() });
        const tenant = readOperatorTenant(options.tenant);
        const server = await serverOf(tenant, sample, { options, io });
        return runWebhookSend({ event, sample, scheme, server }, tenant, io);
      }),
    );
  noun
    .command("sign")
    .description("the X-Signature of a body, or with --scheme v2 its headers, under the tenant's webhook secret")
    .requiredOption("--body <file>", "the exact bytes; - reads stdin", identifier)
    .addOption(schemeOption("what the --endpoint takes, v1 where it takes any or none is named,"))
    .addOption(endpointOption("whose secret signs; v2 needs it, v1 takes the shared one unless given"))
    .option("--id <id>", "the webhook-id of v2; a new one unless given", identifier)
    .option("--timestamp <seconds>", "the webhook-timestamp of v2, since the epoch; now unless given", epochSeconds)
    .action(
      host.action<{ body: string } & SignOptions>(async ({ options, io }) => {
        const body = await readBytes(options.body);
        return runWebhookSign({ ...options, body }, readOperatorTenant(options.tenant), io);
      }),
    );
  noun
    .command("verify")
    .description("check a body's X-Signature against the tenant's active webhook secrets")
    .requiredOption("--body <file>", "the exact bytes; - reads stdin", identifier)
    .requiredOption("--signature <hex>", "as it stands in the header", identifier)
    .addOption(endpointOption("whose secrets count; those of all unless given"))
    .action(
      host.action<{ body: string; signature: string; endpoint?: InboundEndpoint }>(async ({ options, io }) => {
        const { signature, endpoint } = options;
        const body = await readBytes(options.body);
        return runWebhookVerify({ body, signature, endpoint }, readOperatorTenant(options.tenant), io);
      }),
    );
}

/** `v1` is the X-Signature of the interface specification, `v2` Standard Webhooks, which signs the time too. */
type Scheme = "v1" | "v2";

interface SignOptions {
  scheme?: Scheme | undefined;
  endpoint?: InboundEndpoint | undefined;
  id?: string | undefined;
  timestamp?: number | undefined;
}

/** How an endpoint wants to be signed for; the older way where it takes both. */
function schemeTaken({ config }: OperatorTenant, endpoint: InboundEndpoint | undefined): Scheme {
  return endpoint !== undefined && config.webhooks.inbound[endpoint]?.scheme === "v2" ? "v2" : "v1";
}

function schemeOption(otherwise: string): Option {
  return new Option(
    "--scheme <scheme>",
    `v2 signs the time too, after Standard Webhooks; ${otherwise} unless given`,
  ).choices(["v1", "v2"]);
}

function endpointOption(description: string): Option {
  return new Option("--endpoint <endpoint>", description).choices(INBOUND_ENDPOINTS);
}

function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}

/** @throws Fault USAGE, UNREACHABLE when no server answers, SERVER_UNPROVEN when it may be another process */
async function serverOf(
  tenant: OperatorTenant,
  { endpoint }: SampleWebhook,
  { options: { via, url }, io: { output } }: { options: Globals; io: Io },
): Promise<ServerAddress> {
  if (via === "db") throw new Fault("USAGE", "Webhooks arrive over HTTP: leave --via db out");
  const { chooseDoor } = await import("../../app/doors/doors.ts");
  const note = (message: string) => output.note(message);
  // The signature of a deposit is as good as the deposit, so it goes where its secret may go.
  const secretName = () => {
    const [secret] = signingSecretsOf(tenant, endpoint).references;
    return secret && destinationName(secret);
  };
  const door = await chooseDoor(tenant, "http", url, note, secretName);
  if (door.kind === "db") throw new Fault("UNREACHABLE", `No server of ${tenant.id} answers`);
  return door;
}

interface Sent {
  event: string;
  url: string;
  status: number;
  body: Record<string, unknown>;
}

const sentView: View<Sent, Sent> = {
  kind: "record",
  fields: ({ event, url, status, body }) => [
    ["event", event],
    ["to", url],
    ["answer", String(status)],
    ["body", JSON.stringify(body)],
  ],
};

export async function runWebhookSend(
  {
    event,
    sample,
    scheme,
    server,
  }: { event: string; sample: SampleWebhook; scheme?: Scheme | undefined; server: ServerAddress },
  tenant: OperatorTenant,
  { output }: Io,
): Promise<ExitCode> {
  const target = `${server.url}${sample.path}${tenant.id}`;
  const body = JSON.stringify(sample.body);
  const request = await tenantFetch(tenant, server);
  const response = await post(request, target, body, await signatureOf(sample, scheme, body, tenant));
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw faultFrom(response, answer);
  await output.print({ event, url: target, status: response.status, body: sample.body }, sentView);
  return EXIT.ok;
}

function signingSecretsOf({ config }: OperatorTenant, endpoint: SampleWebhook["endpoint"]): References {
  if (endpoint !== "stripe") return inboundSecretsOf(config, endpoint);
  return { references: config.webhooks.inbound.stripe, path: ["webhooks", "inbound", "stripe"] };
}

async function signatureOf(
  { endpoint }: SampleWebhook,
  scheme: Scheme | undefined,
  body: string,
  tenant: OperatorTenant,
): Promise<Record<string, string>> {
  const secret = () => firstSecret(tenant, signingSecretsOf(tenant, endpoint));
  if (endpoint === "stripe") {
    if (scheme) throw new Fault("USAGE", "Stripe signs in its own way: leave --scheme out");
    return { "stripe-signature": await signAsStripe(body, secret(), wallClockMs()) };
  }
  if ((scheme ?? schemeTaken(tenant, endpoint)) === "v2") return signMessageOf(Buffer.from(body), secret(), {});
  return { "x-signature": signBody(Buffer.from(body), secret()) };
}

async function post(
  request: typeof fetch,
  url: string,
  body: string,
  signature: Record<string, string>,
): Promise<Response> {
  try {
    return await request(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...signature },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    const { reason, fault } = connectionFailure(error);
    throw fault ?? new Fault("UNREACHABLE", `Cannot reach ${url}: ${reason}`, { cause: error });
  }
}

type References = Pick<SecretList, "references" | "path">;

function valuesOf({ secret }: OperatorTenant, { references, path }: References): string[] {
  return references.map((reference, index) => secret(reference, [...path, index]));
}

/** @throws Fault CONFIG_INVALID when the tenant file names none, or its value is not at hand */
function firstSecret(tenant: OperatorTenant, { references, path }: References): string {
  const [secret] = valuesOf(tenant, { references: references.slice(0, 1), path });
  if (secret === undefined) throw new Fault("CONFIG_INVALID", `The file of ${tenant.id} names no ${formatPath(path)}`);
  return secret;
}

function sharedSecrets({ config }: OperatorTenant): References {
  return { references: config.webhooks.inbound.secrets, path: ["webhooks", "inbound", "secrets"] };
}

const signatureView: View<{ signature: string }, { signature: string }> = {
  kind: "text",
  text: ({ signature }) => signature,
};

interface SignedMessage {
  scheme: "v2";
  headers: SignedHeaders;
}

const headersView: View<SignedMessage, SignedMessage> = {
  kind: "record",
  fields: ({ scheme, headers }) => [["scheme", scheme], ...Object.entries(headers)],
};

export async function runWebhookSign(
  { body, scheme: asked, endpoint, id, timestamp }: { body: Buffer } & SignOptions,
  tenant: OperatorTenant,
  { output }: Io,
): Promise<ExitCode> {
  const scheme = asked ?? schemeTaken(tenant, endpoint);
  if (scheme !== "v2" && (id !== undefined || timestamp !== undefined))
    throw new Fault("USAGE", "--id and --timestamp are signed by --scheme v2 only");
  if (scheme === "v2" && endpoint === undefined)
    throw new Fault("USAGE", `--scheme v2 needs --endpoint: one of ${INBOUND_ENDPOINTS.join(", ")}`);
  const secret = firstSecret(tenant, endpoint ? inboundSecretsOf(tenant.config, endpoint) : sharedSecrets(tenant));
  if (scheme === "v2") {
    const headers = signMessageOf(body, secret, { id, timestamp });
    await output.print({ scheme, headers }, headersView);
  } else await output.print({ signature: signBody(body, secret) }, signatureView);
  return EXIT.ok;
}

function signMessageOf(body: Buffer, secret: string, { id, timestamp }: Pick<SignOptions, "id" | "timestamp">) {
  const messageId = id ?? `msg_${randomUUID()}`;
  if (!isMessageId(messageId))
    throw new Fault("USAGE", "--id must be 1 to 255 visible ASCII characters without spaces and dots");
  return signInbound(messageId, body, timestamp ?? Math.floor(wallClockMs() / 1000), secret);
}

const validView: View<{ valid: boolean }, { valid: boolean }> = { kind: "text", text: () => "valid" };

/** @throws Fault SIGNATURE_INVALID when no active secret makes this signature */
export async function runWebhookVerify(
  { body, signature, endpoint }: { body: Buffer; signature: string; endpoint?: InboundEndpoint | undefined },
  tenant: OperatorTenant,
  { output }: Io,
): Promise<ExitCode> {
  const lists = (endpoint ? [endpoint] : INBOUND_ENDPOINTS).map((each) => inboundSecretsOf(tenant.config, each));
  // The shared list is read once, though several endpoints take it.
  const named = new Map(lists.map((list) => [formatPath(list.path), list]));
  const secrets = [...named.values()].flatMap((list) => valuesOf(tenant, list));
  const valid = verifySignature(body, signature, secrets);
  if (!valid) throw new Fault("SIGNATURE_INVALID", "Invalid signature");
  await output.print({ valid }, validView);
  return EXIT.ok;
}

async function readBytes(file: string): Promise<Buffer> {
  const bytes = file === "-" ? await buffer(process.stdin) : await readFile(file).catch(notReadable(file));
  if (bytes.length > MAX_BODY_BYTES) throw new Fault("USAGE", `--body is longer than ${MAX_BODY_BYTES} bytes`);
  return bytes;
}

function notReadable(file: string) {
  return (cause: unknown): never => {
    throw new Fault("USAGE", `--body: ${file} cannot be read`, { cause });
  };
}
