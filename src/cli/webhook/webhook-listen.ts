import { isConfirmed } from "../../app/audit/verify-log.ts";
import { readOperatorTenant } from "../../app/tenant/operator-tenant.ts";
import { type ForwardOptions, forwardEvents, listenSecret } from "../../app/webhooks/forward-events.ts";
import type { Api } from "../../contract/operations.ts";
import { type WebhookEventType, webhookEventTypes } from "../../contract/resources/webhooks.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandModule, type Io, withSession } from "../command.ts";
import { ASKS_TENANT } from "../errors.ts";

const POLL_MS = 500;
/** Over HTTP each poll counts against the rate limit: this pause fits the default of 20 requests a minute. */
const HTTP_POLL_MS = 4000;

interface Flags {
  forwardTo?: string;
  events?: WebhookEventType[];
  printSecret?: true;
}

export const webhookListen: CommandModule = {
  register: (noun, host) =>
    host.add<Flags>(
      noun
        .command("listen")
        .description("follow events and forward them, signed, to a program on this machine")
        .option("--forward-to <url>", "the address to post events to, such as http://localhost:3000/hook", address)
        .option("--events <names>", "only these events, such as order.filled,market.settled", eventList)
        .option("--print-secret", "print the signing secret, and stop"),
      { names: "id type status problem secret", ends: ASKS_TENANT },
      async ({ options, io, interrupts }) => {
        const { forwardTo, events = webhookEventTypes, printSecret } = options;
        const tenant = readOperatorTenant(options.tenant);
        const secret = listenSecret(tenant.secret(tenant.config.audit.key, ["audit", "key"]));
        if (printSecret) return io.output.print({ secret }, { kind: "text", text: () => secret });
        if (forwardTo === undefined) throw new Fault("USAGE", "Name the address to forward to: --forward-to URL");
        const signal = interrupts.take();
        // Polling the database counts against no rate limit.
        const via = options.via === "auto" && options.url === undefined ? "db" : options.via;
        return withSession({ ...options, via }, io, (session) => {
          io.output.note(`Forwarding to ${forwardTo}. The signing secret is ${secret} (Ctrl-C ends)`);
          const pollMs = session.services ? POLL_MS : HTTP_POLL_MS;
          const forwarding: ForwardOptions = {
            ...{ forwardTo, events, secret, pollMs, signal },
            isConfirmed: (entry) => isConfirmed(entry, session),
          };
          return runWebhookListen(forwarding, session.api(), io);
        });
      },
    ),
};

function address(value: string): string {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw new Fault("USAGE", "--forward-to must be an address such as http://localhost:3000/hook");
  return value;
}

function eventList(value: string): WebhookEventType[] {
  return value.split(",").map((name) => {
    const type = webhookEventTypes.find((each) => each === name.trim());
    if (type) return type;
    throw new Fault(
      "USAGE",
      `--events: there is no event ${JSON.stringify(name)}; the events are: ${webhookEventTypes.join(", ")}`,
    );
  });
}

export async function runWebhookListen(options: ForwardOptions, api: Api, { output }: Io): Promise<void> {
  for await (const forwarded of forwardEvents(options, api))
    await output.print(forwarded, {
      kind: "text",
      text: ({ id, type, status, problem }) => `${type} ${id}: ${status ?? problem ?? "no answer"}`,
    });
}
