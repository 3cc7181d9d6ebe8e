import { type Command, Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { wholeId } from "../input/names.ts";
import { DEFAULT_LIMIT, limitOption, readPages } from "../input/paging.ts";
import { identifier } from "../input/parsers.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";
import { registerListen } from "./webhook-listen.ts";
import { registerSending } from "./webhook-send.ts";

type Delivery = WireResult<"replayWebhook">["replayed"][number];
type Receiver = WireResult<"enableWebhookReceiver">;

interface DeliveriesOptions {
  receiver?: string | undefined;
  status?: Delivery["status"] | undefined;
  limit?: number | undefined;
}

export function register(noun: Command, host: Host): void {
  registerSending(noun, host);
  host.add<DeliveriesOptions>(
    noun
      .command("deliveries")
      .description("deliveries of events to receivers, each with its last answer, newest event first")
      .option("--receiver <name>", "only to this one", identifier)
      .addOption(new Option("--status <status>", "only these").choices(["pending", "delivered", "dead"]))
      .addOption(limitOption()),
    { operation: "listWebhookDeliveries" },
    ({ options, io }) => withSession(options, io, (session) => runWebhookDeliveries(options, session.api(), io)),
  );
  host.add(
    noun
      .command("replay")
      .description(
        "send an event again, delivered ones too: to one receiver by the delivery's id, to all by the event's",
      )
      .argument("<id>", "of a delivery or of an event, or the beginning of one such as evt_1042_9f", identifier),
    { operation: "replayWebhook", rows: "replayed" },
    ({ options, args: [id = ""], io }) =>
      withSession(options, io, (session) => runWebhookReplay({ id }, session.api(), io)),
  );
  for (const command of [webhookReceivers, webhookEnable]) command.register(noun, host);
  registerListen(noun, host);
}

const deliveriesView: View<readonly Delivery[], Delivery> = {
  kind: "list",
  rows: (deliveries) => deliveries,
  columns: [
    { title: "DELIVERY", cell: ({ deliveryId }) => deliveryId, whole: true },
    { title: "EVENT", cell: ({ type }) => type },
    { title: "STATUS", cell: ({ status }) => status },
    { title: "TRIES", cell: ({ attempts }) => String(attempts), align: "right" },
    { title: "LAST ANSWER", cell: ({ lastAnswer }) => answerText(lastAnswer) },
    instantColumn("NEXT", ({ nextAttemptAt }) => nextAttemptAt, { optional: true }),
  ],
  empty: "No deliveries.",
};

function answerText(answer: Delivery["lastAnswer"]): string {
  if (answer === null) return "-";
  return answer.status === null ? answer.excerpt : `${answer.status} ${answer.excerpt}`.trim();
}

export const webhookReceivers = defineCommand({
  name: "receivers",
  summary: "the receivers of events, their pending and dead deliveries, and those that answered 410 and are disabled",
  operation: "listWebhookReceivers",
  input: () => ({}),
  view: {
    kind: "list",
    rows: (receivers) => receivers,
    columns: [
      { title: "RECEIVER", cell: ({ name }) => name, whole: true },
      { title: "STATE", cell: stateOf },
      { title: "PENDING", cell: ({ pending }) => String(pending), align: "right" },
      { title: "DEAD", cell: ({ dead }) => String(dead), align: "right" },
    ],
    empty: "No receiver is known yet: webhooks.outbound of the tenant file names them, and pmctl serve registers them.",
  },
});

export const webhookEnable = defineCommand({
  name: "enable",
  summary: "deliver again to a receiver that answered 410 and was disabled by it",
  takes: (command) => command.argument("<receiver>", "its name in the tenant file", identifier),
  operation: "enableWebhookReceiver",
  input: ({ args: [name = ""] }) => ({ name }),
  view: {
    kind: "record",
    fields: (receiver) => [
      ["receiver", receiver.name],
      ["state", stateOf(receiver)],
      ["pending", String(receiver.pending)],
      ["dead", String(receiver.dead)],
    ],
  },
});

function stateOf({ enabled, disabledAt }: Receiver): string {
  return enabled ? "enabled" : `disabled since ${orDash(disabledAt && time(disabledAt))}`;
}

export async function runWebhookDeliveries(options: DeliveriesOptions, api: Api, { output }: Io): Promise<void> {
  const { receiver, status, limit = DEFAULT_LIMIT } = options;
  const { items: deliveries, nextCursor } = await readPages(limit, (page) =>
    api.listWebhookDeliveries({ receiver, status, ...page }),
  );
  await output.print(deliveries, deliveriesView);
  if (nextCursor !== null) output.note(`There are more than these ${deliveries.length}: raise --limit.`);
}

/**
 * Queues the event: a running server sends it.
 * @param options.id of a delivery or an event, or the beginning of an event's; a delivery's names its receiver after a dot
 * @throws Fault AMBIGUOUS naming the events that begin so
 */
export async function runWebhookReplay({ id }: { id: string }, api: Api, { output }: Io): Promise<void> {
  const [event = "", ...receiver] = id.split(".");
  const whole = (await wholeId(["delivery"], event, api)) ?? event;
  const { replayed } = await api.replayWebhook({ id: [whole, ...receiver].join(".") });
  await output.print(replayed, deliveriesView);
}
