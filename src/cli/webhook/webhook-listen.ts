import { createHmac } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { readOperatorTenant } from "../../app/tenant/operator-tenant.ts";
import { connectionFailure } from "../../client/http-answer.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type WebhookEventType, webhookEventTypes } from "../../contract/resources/webhooks.ts";
import { contentOf } from "../../domain/audit/audit-payloads.ts";
import { wallClockMs } from "../../domain/clock.ts";
import { Fault } from "../../domain/fault.ts";
import { bodyOf, eventNamesOf, marketOf, type OutgoingEvent, outgoingEventsOf } from "../../outgoing/events.ts";
import { signMessage } from "../../outgoing/sign.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { View } from "../output/output.ts";

type Entry = WireResult<"listAudit">["entries"][number];

export interface ListenOptions {
  forwardTo: string;
  events: readonly WebhookEventType[];
  secret: string;
  /** How often the log is looked at. */
  pollMs: number;
  /** Ends the listening. */
  signal: AbortSignal;
}

/** As many as one page of the interface holds. */
const PAGE = 200;
const POLL_MS = 500;
/** Over HTTP every look counts: a tenant's default of 20 requests a minute has room for it. */
const HTTP_POLL_MS = 4000;
const TIMEOUT_MS = 10_000;

interface Flags {
  forwardTo?: string;
  events?: WebhookEventType[];
  printSecret?: true;
}

export function registerListen(noun: Command, host: Host): void {
  noun
    .command("listen")
    .description("follow what happens and forward it, signed, to a program on this machine")
    .option("--forward-to <url>", "where events are posted, such as http://localhost:3000/hook", address)
    .option("--events <names>", "only these, such as order.filled,market.settled", eventList)
    .option("--print-secret", "print the signing secret and end")
    .action(
      host.action<Flags>(async ({ options, io, interrupts }) => {
        const { forwardTo, events = webhookEventTypes, printSecret } = options;
        const tenant = readOperatorTenant(options.tenant);
        const secret = listenSecret(tenant.secret(tenant.config.audit.key, ["audit", "key"]));
        if (printSecret) {
          await io.output.print({ secret }, secretView);
          return EXIT.ok;
        }
        if (forwardTo === undefined) throw new Fault("USAGE", "Where to? Add --forward-to URL");
        const signal = interrupts.take();
        // The database answers every look; the server would count it.
        const via = options.via === "auto" && options.url === undefined ? "db" : options.via;
        return withSession({ ...options, via }, io, (session) => {
          io.output.note(`Forwarding to ${forwardTo}. The signing secret is ${secret} (Ctrl-C ends)`);
          const pollMs = session.services ? POLL_MS : HTTP_POLL_MS;
          return runWebhookListen({ forwardTo, events, secret, pollMs, signal }, session.api(), io);
        });
      }),
    );
}

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
      `--events: there is no ${JSON.stringify(name)}; there are: ${webhookEventTypes.join(", ")}`,
    );
  });
}

/** The same whenever it is asked for, so that a program under development is configured once. It is no receiver's. */
export function listenSecret(auditSecret: string): string {
  return `whsec_${createHmac("sha256", auditSecret).update("pmctl webhook listen v1").digest("base64")}`;
}

const secretView: View<{ secret: string }, { secret: string }> = { kind: "text", text: ({ secret }) => secret };

interface Forwarded {
  id: string;
  type: string;
  /** Null when no answer came. */
  status: number | null;
  problem?: string;
}

const forwardedView: View<Forwarded, Forwarded> = {
  kind: "text",
  text: ({ id, type, status, problem }) => `${type} ${id}: ${status ?? problem ?? "no answer"}`,
};

/** Forwards what happens from now on, in order, each event once: this is for looking, deliveries are the server's. */
export async function runWebhookListen(options: ListenOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const { events, pollMs, signal } = options;
  const questions = new Map<string, string>();
  let position = (await api.listAudit({ limit: 1 })).entries[0]?.seq ?? 0;
  while (!signal.aborted) {
    for (const entry of await entriesAfter(api, position)) {
      for (const event of await eventsIn(entry, api, questions))
        if (events.includes(event.type) && !signal.aborted)
          await output.print(await forward(event, options), forwardedView);
      position = entry.seq;
    }
    await delay(pollMs, undefined, { signal }).catch(() => {});
  }
  return EXIT.ok;
}

/** Oldest first. The interface lists the newest first, so it walks back to where it was. */
async function entriesAfter(api: Api, position: number): Promise<Entry[]> {
  const found: Entry[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.listAudit({ limit: PAGE, cursor });
    const fresh = page.entries.filter(({ seq }) => seq > position);
    found.push(...fresh);
    cursor = fresh.length === PAGE ? (page.cursor ?? undefined) : undefined;
  } while (cursor !== undefined);
  return found.reverse();
}

async function eventsIn(entry: Entry, api: Api, questions: Map<string, string>): Promise<OutgoingEvent[]> {
  const followed = { ...entry, seq: BigInt(entry.seq), content: contentOf(entry) };
  const id = eventNamesOf(followed).length > 0 ? marketOf(followed) : undefined;
  if (id !== undefined && !questions.has(id)) questions.set(id, (await api.getMarket({ id })).question);
  return outgoingEventsOf(followed, questions.get(id ?? ""));
}

async function forward(event: OutgoingEvent, { forwardTo, secret }: ListenOptions): Promise<Forwarded> {
  const { id, type } = event;
  const body = bodyOf(event);
  const headers = { "content-type": "application/json", ...signMessage(id, body, wallClockMs(), [secret]) };
  try {
    const response = await fetch(forwardTo, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return { id, type, status: response.status };
  } catch (error) {
    return { id, type, status: null, problem: connectionFailure(error).reason };
  }
}
