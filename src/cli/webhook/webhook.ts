import { type Command, Option } from "commander";
import { isFailing } from "../../client/inbox/waiting.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import { type CommandContext, type Host, type Io, withSession } from "../command.ts";
import { defineCommand, defineList, verbs } from "../define-command.ts";
import { knownUser, wholeId } from "../input/names.ts";
import { identifier } from "../input/parsers.ts";
import { orDash, time } from "../output/cells.ts";
import { type Column, instantColumn } from "../output/table.ts";
import { webhookListen } from "./webhook-listen.ts";
import { webhookSend, webhookSign, webhookVerify } from "./webhook-send.ts";

type Delivery = WireResult<"replayWebhook">["replayed"][number];
type Receiver = WireResult<"enableWebhookReceiver">;

const deliveries = {
  columns: [
    { title: "DELIVERY", cell: ({ deliveryId }) => deliveryId, whole: true },
    { title: "EVENT", cell: ({ type }) => type },
    { title: "STATUS", cell: ({ status }) => status },
    { title: "TRIES", cell: ({ attempts }) => String(attempts), align: "right" },
    { title: "LAST ANSWER", cell: ({ lastAnswer }) => answerText(lastAnswer) },
    instantColumn("NEXT", ({ nextAttemptAt }) => nextAttemptAt, { optional: true }),
  ] satisfies Column<Delivery>[],
  empty: "No deliveries.",
};

function answerText(answer: Delivery["lastAnswer"]): string {
  if (answer === null) return "-";
  return answer.status === null ? answer.excerpt : `${answer.status} ${answer.excerpt}`.trim();
}

export const webhookInbound = defineList({
  name: "inbound",
  summary: "list the webhooks of providers, newest first: what they reported, of whom, and what came of it",
  takes: (command) =>
    command.option("--provider <provider>", "only payments, stripe, or kyc: and the provider's name", identifier),
  operation: "listInboundWebhooks",
  input: ({ options: { provider } }: CommandContext<{ provider?: string }>) => ({ provider }),
  columns: [
    { title: "RECEIVED", cell: ({ receivedAt }) => time(receivedAt, { seconds: true }) },
    { title: "PROVIDER", cell: ({ provider }) => provider },
    { title: "EVENT", cell: ({ event }) => event },
    { title: "REFERENCE", cell: ({ reference }) => orDash(reference) },
    { title: "USER", cell: ({ userId }) => orDash(userId) },
    { title: "OUTCOME", cell: ({ outcome }) => outcome },
    { title: "ENTRY", cell: ({ sequence }) => (sequence === null ? "-" : String(sequence)), align: "right" },
  ],
  empty: "No provider has sent a webhook.",
});

export const webhookReceived = defineCommand({
  name: "received",
  summary: "show one webhook of a provider, with its body if that was kept: only of events that changed nothing",
  takes: (command) =>
    command
      .argument("<provider>", "the provider, as webhook inbound -o json shows it", identifier)
      .argument("<sha256>", "the hash of its body, as shown there", identifier),
  operation: "getInboundWebhook",
  input: ({ args: [provider = "", sha256 = ""] }) => ({ provider, sha256 }),
  fields: ({ receivedAt, provider, event, reference, userId, outcome, sequence, body }) => [
    ["received", time(receivedAt, { seconds: true })],
    ["provider", provider],
    ["event", event],
    ["reference", orDash(reference)],
    ["user", orDash(userId)],
    ["outcome", outcome],
    ["entry", orDash(sequence?.toString() ?? null)],
    ["body", orDash(body)],
  ],
});

export const webhookReceivers = defineCommand({
  name: "receivers",
  summary: "list the receivers of events, their pending and dead deliveries, and those disabled after a 410",
  operation: "listWebhookReceivers",
  columns: [
    { title: "RECEIVER", cell: ({ name }) => name, whole: true },
    { title: "STATE", cell: stateOf },
    { title: "PENDING", cell: ({ pending }) => String(pending), align: "right" },
    { title: "DEAD", cell: ({ dead }) => String(dead), align: "right" },
  ],
  empty: "No receiver is known yet: webhooks.outbound of the tenant file names them, and pmctl serve registers them.",
});

export const webhookEnable = defineCommand({
  name: "enable",
  summary: "deliver again to a receiver that was disabled after it answered 410",
  takes: (command) => command.argument("<receiver>", "the receiver's name in the tenant file", identifier),
  operation: "enableWebhookReceiver",
  input: ({ args: [name = ""] }) => ({ name }),
  fields: (receiver) => [
    ["receiver", receiver.name],
    ["state", stateOf(receiver)],
    ["pending", String(receiver.pending)],
    ["dead", String(receiver.dead)],
  ],
});

function stateOf(receiver: Receiver): string {
  const { enabled, disabledAt, failures } = receiver;
  if (isFailing(receiver)) return `failing, ${counted(failures, "attempt")} in a row`;
  return enabled ? "enabled" : `disabled since ${orDash(disabledAt && time(disabledAt, { seconds: true }))}`;
}

interface DeliveryFilter {
  receiver?: string;
  status?: Delivery["status"];
  user?: string;
}

export const webhookDeliveries = defineList({
  name: "deliveries",
  summary: "list deliveries of events to receivers, each with its last answer, newest event first",
  takes: (command) =>
    command
      .option("--receiver <name>", "only to this receiver", identifier)
      .addOption(new Option("--status <status>", "only this status").choices(["pending", "delivered", "dead"]))
      .option("--user <id>", "only events of this user's trades, payments and identity checks", identifier),
  operation: "listWebhookDeliveries",
  input: async ({ options: { receiver, status, user } }: CommandContext<DeliveryFilter>, api) => ({
    receiver,
    status,
    userId: user && (await knownUser(user, api)),
  }),
  ...deliveries,
});

/** One delivery with the body that its receiver gets. */
export const webhookDelivery = defineCommand({
  name: "delivery",
  summary: "show a delivery: the exact body that its receiver gets, its attempts and the last answer",
  takes: (command) =>
    command.argument("<id>", "id of a delivery: an event's id or its prefix, a dot, and the receiver", identifier),
  operation: "getWebhookDelivery",
  input: async ({ args: [id = ""] }, api) => ({ id: await wholeDeliveryId(id, api) }),
  fields: ({ deliveryId, type, status, attempts, lastAnswer, nextAttemptAt, body }) => [
    ["delivery", deliveryId],
    ["event", type],
    ["status", status],
    ["tries", String(attempts)],
    ["last answer", answerText(lastAnswer)],
    ["next attempt", nextAttemptAt === null ? "-" : time(nextAttemptAt, { seconds: true })],
    ["body", orDash(body)],
  ],
});

export const webhookTest = defineCommand({
  name: "test",
  summary: "send a receiver the event webhook.test, as every other event: webhook deliveries shows what came of it",
  takes: (command) => command.argument("<receiver>", "the receiver's name in the tenant file", identifier),
  operation: "testWebhookReceiver",
  input: ({ args: [name = ""] }) => ({ name }),
  fields: ({ receiver, sequence }) => [
    ["receiver", receiver],
    ["entry", String(sequence)],
  ],
});

/** In a delivery's id the receiver's name follows a dot. */
async function wholeDeliveryId(id: string, api: Api): Promise<string> {
  const [event = "", ...receiver] = id.split(".");
  return [(await wholeId(["delivery"], event, api)) ?? event, ...receiver].join(".");
}

export const webhookReplay = {
  register: (noun: Command, host: Host) =>
    host.add(
      noun
        .command("replay")
        .description(
          "send an event again, even one that was delivered: a delivery's id means one receiver, an event's id all of them",
        )
        .argument("<id>", "id of a delivery or of an event, or an id prefix such as evt_1042_9f", identifier),
      { operation: "replayWebhook", rows: "replayed" },
      ({ options, args: [id = ""], io }) =>
        withSession(options, io, (session) => webhookReplay.run({ id }, session.api(), io)),
    ),

  /** Queues the event, and a running server sends it. */
  async run({ id }: { id: string }, api: Api, { output }: Io): Promise<void> {
    const { replayed } = await api.replayWebhook({ id: await wholeDeliveryId(id, api) });
    await output.print<readonly Delivery[], Delivery>(replayed, { kind: "list", rows: (all) => all, ...deliveries });
  },
};

export const register = verbs(
  webhookSend,
  webhookSign,
  webhookVerify,
  webhookDeliveries,
  webhookDelivery,
  webhookInbound,
  webhookReceived,
  webhookReplay,
  webhookReceivers,
  webhookEnable,
  webhookTest,
  webhookListen,
);
