import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { Command } from "commander";
import { connectionFailure, faultFrom } from "../../client/http-answer.ts";
import { Fault } from "../../domain/fault.ts";
import { signBody, verifySignature } from "../../webhooks/signature.ts";
import { signAsStripe } from "../../webhooks/stripe.ts";
import { wallClockMs } from "../clock.ts";
import type { Globals, Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { type OperatorTenant, readOperatorTenant } from "../operator-tenant.ts";
import type { View } from "../output.ts";
import { identifier } from "../parsers.ts";
import { type ServerAddress, tenantFetch } from "../trust.ts";
import { SAMPLE_EVENTS, type SampleWebhook, sampleWebhook } from "../webhook-samples.ts";

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
    .action(
      host.action<{ set: string[] }>(async ({ options, args: [event = ""], io }) => {
        const sample = sampleWebhook(event, options.set, { id: randomUUID(), now: wallClockMs() });
        const tenant = readOperatorTenant(options.tenant);
        return runWebhookSend({ event, sample, server: await serverOf(tenant, options, io) }, tenant, io);
      }),
    );
  noun
    .command("sign")
    .description("the X-Signature of a body, under the tenant's webhook secret")
    .requiredOption("--body <file>", "the exact bytes; - reads stdin", identifier)
    .action(
      host.action<{ body: string }>(async ({ options, io }) => {
        const body = await readBytes(options.body);
        return runWebhookSign({ body }, readOperatorTenant(options.tenant), io);
      }),
    );
  noun
    .command("verify")
    .description("check a body's X-Signature against the tenant's active webhook secrets")
    .requiredOption("--body <file>", "the exact bytes; - reads stdin", identifier)
    .requiredOption("--signature <hex>", "as it stands in the header", identifier)
    .action(
      host.action<{ body: string; signature: string }>(async ({ options, io }) => {
        const body = await readBytes(options.body);
        return runWebhookVerify({ body, signature: options.signature }, readOperatorTenant(options.tenant), io);
      }),
    );
}

function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}

/** @throws Fault USAGE, UNREACHABLE when no server answers, SERVER_UNPROVEN when it may be another process */
async function serverOf(tenant: OperatorTenant, { via, url }: Globals, { output }: Io): Promise<ServerAddress> {
  if (via === "db") throw new Fault("USAGE", "Webhooks arrive over HTTP: leave --via db out");
  const { chooseDoor } = await import("../doors.ts");
  const door = await chooseDoor(tenant, "http", url, (message) => output.note(message));
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
  { event, sample, server }: { event: string; sample: SampleWebhook; server: ServerAddress },
  tenant: OperatorTenant,
  { output }: Io,
): Promise<ExitCode> {
  const target = `${server.url}${sample.path}${tenant.id}`;
  const body = JSON.stringify(sample.body);
  const request = await tenantFetch(tenant, server);
  const response = await post(request, target, body, await signatureOf(sample, body, tenant));
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw faultFrom(response, answer);
  await output.print({ event, url: target, status: response.status, body: sample.body }, sentView);
  return EXIT.ok;
}

async function signatureOf({ scheme }: SampleWebhook, body: string, tenant: OperatorTenant) {
  const [secret] = scheme === "stripe" ? inboundSecrets(tenant, "stripe") : inboundSecrets(tenant, "secrets");
  if (secret === undefined) throw noSecret(tenant, scheme === "stripe" ? "stripe" : "secrets");
  return scheme === "stripe"
    ? { "stripe-signature": await signAsStripe(body, secret, wallClockMs()) }
    : { "x-signature": signBody(Buffer.from(body), secret) };
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

function inboundSecrets({ config, secret }: OperatorTenant, kind: "secrets" | "stripe"): string[] {
  return config.webhooks.inbound[kind].map((reference, index) =>
    secret(reference, ["webhooks", "inbound", kind, index]),
  );
}

function noSecret({ id }: OperatorTenant, kind: string): Fault {
  return new Fault("CONFIG_INVALID", `The file of ${id} names no webhooks.inbound.${kind}`);
}

const signatureView: View<{ signature: string }, { signature: string }> = {
  kind: "text",
  text: ({ signature }) => signature,
};

export async function runWebhookSign(
  { body }: { body: Buffer },
  tenant: OperatorTenant,
  { output }: Io,
): Promise<ExitCode> {
  const [secret] = inboundSecrets(tenant, "secrets");
  if (secret === undefined) throw noSecret(tenant, "secrets");
  await output.print({ signature: signBody(body, secret) }, signatureView);
  return EXIT.ok;
}

const validView: View<{ valid: boolean }, { valid: boolean }> = { kind: "text", text: () => "valid" };

/** @throws Fault SIGNATURE_INVALID when no active secret makes this signature */
export async function runWebhookVerify(
  { body, signature }: { body: Buffer; signature: string },
  tenant: OperatorTenant,
  { output }: Io,
): Promise<ExitCode> {
  const valid = verifySignature(body, signature, inboundSecrets(tenant, "secrets"));
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
