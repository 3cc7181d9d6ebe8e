import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { Option } from "commander";
import { readOperatorTenant } from "../../app/tenant/operator-tenant.ts";
import {
  checkStandingIn,
  type Scheme,
  type SignOptions,
  sendAsProvider,
  signAsProvider,
} from "../../app/webhooks/as-provider.ts";
import { type ReceivedWebhook, SCHEME_NAMES, verifyWebhook } from "../../app/webhooks/verify-signature.ts";
import { SAMPLE_EVENTS, sampleFields, sampleWebhook } from "../../app/webhooks/webhook-samples.ts";
import { INBOUND_ENDPOINTS } from "../../contract/constants.ts";
import { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { CommandModule } from "../command.ts";
import { ASKS_TENANT, NOT_CONFIRMED, READS_FILES } from "../errors.ts";
import { epochSeconds, identifier } from "../input/parsers.ts";
import { askReason, declined, mustAsk } from "../input/prompts.ts";

/** The server's limit for a webhook. */
const MAX_BODY_BYTES = 256 * 1024;

const STANDING_IN = "Standing in for a provider";

/** Puts an event on record as its provider would. */
export const webhookSend: CommandModule = {
  register: (noun, host) =>
    host.add<{ set: string[]; scheme?: Scheme; asProvider?: boolean }>(
      noun
        .command("send")
        .description(
          "send an event to the running server, signed as its provider would sign it; outside of a sandbox with --as-provider",
        )
        .argument("<event>", SAMPLE_EVENTS.join(", "), identifier)
        .option("--set <key=value>", "a field of the event, such as userId=usr_1; may be repeated", collect, [])
        .option("--as-provider", "act for the provider: --reason says why, and your key is the actor on record")
        .addOption(schemeOption("what the endpoint takes"))
        .addHelpText("after", fieldsHelp()),
      { names: "event url status body", ends: { ...ASKS_TENANT, 3: NOT_CONFIRMED } },
      async ({ options: given, args: [event = ""], io }) => {
        const { asProvider } = given;
        const sample = sampleWebhook(event, given.set, { id: randomUUID(), now: wallClockMs() });
        const tenant = readOperatorTenant(given.tenant);
        checkStandingIn(tenant, event, given);
        const reason = asProvider ? await askReason(given, io.prompts, STANDING_IN) : given.reason;
        if (asProvider && mustAsk(given, io.prompts, STANDING_IN)) {
          io.output.note(JSON.stringify(sample.body));
          if (!(await io.prompts.confirm(`Put ${event} on record at ${tenant.id} in the provider's place?`)))
            throw declined();
        }
        const sent = await sendAsProvider(tenant, sample, { ...given, reason }, (message) => io.output.note(message));
        const printed = { event, ...sent, body: sample.body };
        await io.output.print(printed, {
          kind: "record",
          fields: ({ url, status, body }) => [
            ["event", event],
            ["to", url],
            ["answer", String(status)],
            ["body", JSON.stringify(body)],
          ],
        });
      },
    ),
};

export const webhookSign: CommandModule = {
  register: (noun, host) =>
    host.add<{ body: string } & SignOptions>(
      noun
        .command("sign")
        .description("sign a body under the webhook secret: print its X-Signature, or with --scheme v2 its headers")
        .requiredOption("--body <file>", "the file with the exact bytes; - reads stdin", identifier)
        .addOption(schemeOption("what --endpoint takes; v1 without one, or where it takes both"))
        .addOption(endpointOption("whose secret signs; v2 needs an endpoint (default of v1: the shared secret)"))
        .option("--id <id>", "the webhook-id of v2 (default: a new one)", identifier)
        .option(
          "--timestamp <seconds>",
          "the webhook-timestamp of v2, in seconds since 1970 (default: now)",
          epochSeconds,
        ),
      { names: "signature scheme headers", ends: READS_FILES },
      async ({ options, io: { output } }) => {
        const body = await readBytes(options.body);
        const signed = signAsProvider(readOperatorTenant(options.tenant), body, options);
        if ("signature" in signed) return output.print(signed, { kind: "text", text: ({ signature }) => signature });
        await output.print(signed, {
          kind: "record",
          fields: ({ scheme, headers }) => [["scheme", scheme], ...Object.entries(headers)],
        });
      },
    ),
};

export const webhookVerify: CommandModule = {
  register: (noun, host) =>
    host.add<{ body: string } & Omit<ReceivedWebhook, "body">>(
      noun
        .command("verify")
        .description("check a received webhook's signature, of either scheme, against the tenant's active secrets")
        .requiredOption("--body <file>", "the file with the exact bytes; - reads stdin", identifier)
        .requiredOption("--signature <signature>", "the request's webhook-signature, or its X-Signature", identifier)
        .option("--id <id>", "the request's webhook-id, which a webhook-signature needs", identifier)
        .option(
          "--timestamp <time>",
          "the request's webhook-timestamp, which a webhook-signature needs, or its X-Timestamp",
          identifier,
        )
        .addOption(endpointOption("whose secrets and scheme to check (default: those of all endpoints)")),
      { names: "valid scheme", ends: { ...READS_FILES, 4: "the signature is not valid; the message names the part" } },
      async ({ options: { body: file, tenant, ...webhook }, io }) => {
        const body = await readBytes(file);
        const scheme = verifyWebhook(readOperatorTenant(tenant), { ...webhook, body });
        await io.output.print({ valid: true, scheme }, { kind: "text", text: () => `valid (${SCHEME_NAMES[scheme]})` });
      },
    ),
};

/** The fields of each event that `--set` takes. */
function fieldsHelp(): string {
  const lines = SAMPLE_EVENTS.map((event) => `  ${event}: ${sampleFields(event).join(", ")}`);
  return `\nFields for --set:\n${lines.join("\n")}`;
}

function schemeOption(otherwise: string): Option {
  return new Option(
    "--scheme <scheme>",
    `v2 also signs the time, after Standard Webhooks (default: ${otherwise})`,
  ).choices(["v1", "v2"]);
}

function endpointOption(description: string): Option {
  return new Option("--endpoint <endpoint>", description).choices(INBOUND_ENDPOINTS);
}

function collect(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}

async function readBytes(file: string): Promise<Buffer> {
  const reading = file === "-" ? buffer(process.stdin) : readFile(file);
  const bytes = await reading.catch((cause: unknown) => {
    throw new Fault("USAGE", `--body: ${file} cannot be read`, { cause });
  });
  if (bytes.length > MAX_BODY_BYTES) throw new Fault("USAGE", `--body is longer than ${MAX_BODY_BYTES} bytes`);
  return bytes;
}
