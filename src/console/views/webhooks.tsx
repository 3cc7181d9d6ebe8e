import type { WireInput, WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import type { ViewProps } from "../desk.ts";
import { useDesk } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { Action, type ActionOf } from "../parts/action.tsx";
import { EntryLink } from "../parts/links.tsx";
import { Pager } from "../parts/pager.tsx";
import { Filter, Search } from "../parts/search.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { option, pmctl } from "../terminal-line.ts";

type Delivery = WireResult<"listWebhookDeliveries">["items"][number];
type Receiver = WireResult<"listWebhookReceivers">[number];

const PATH = "/webhooks";
const PAGE = 50;
const STATUSES = [
  ["", "Any"],
  ["pending", "Pending"],
  ["delivered", "Delivered"],
  ["dead", "Given up"],
] as const;

/** Outgoing events by receiver, with their attempts, and what providers sent. */
export function WebhooksView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const stated = (name: string): string | undefined => query.get(name) || undefined;
  const [receiver, status, userId] = [stated("receiver"), stated("status"), stated("user")];
  const filter = { receiver, status, userId, cursor: stated("cursor") } as WireInput<"listWebhookDeliveries">;
  const live = useLive(async (api) => {
    const [receivers, deliveries] = await Promise.all([
      api.listWebhookReceivers({}),
      api.listWebhookDeliveries({ ...filter, limit: PAGE }),
    ]);
    return { receivers, deliveries };
  }, query.toString());
  const line = pmctl(
    ...[tenant, "webhook", "deliveries", ...option("receiver", receiver)],
    ...[...option("status", status), ...option("user", userId)],
  );
  const at = { path: PATH, query };
  const tools = (
    <>
      <Filter {...at} label="Status" name="status" options={STATUSES} />
      <Search {...at} label="Receiver" name="receiver" />
      <Search {...at} label="Trader" name="user" />
    </>
  );
  return (
    <View name="Webhooks" live={live} line={line} tools={tools}>
      {({ receivers, deliveries: { items, nextCursor } }) => (
        <>
          <h2>Receivers</h2>
          <Receivers of={receivers} />
          <h2>Deliveries</h2>
          <Deliveries of={items} empty={EMPTY} />
          <Pager {...at} nextCursor={nextCursor} />
        </>
      )}
    </View>
  );
}

function Receivers({ of }: { of: readonly Receiver[] }) {
  const { tenant } = useDesk().session;
  return (
    <Table
      name="Receivers"
      rows={of}
      id={({ name }) => name}
      empty="The tenant file has no receiver. Add one below webhooks.outbound."
      columns={[
        { title: "Receiver", cell: ({ name }) => <bdi>{name}</bdi> },
        {
          title: "State",
          cell: ({ enabled, disabledAt }) =>
            enabled ? (
              <span class="good">on</span>
            ) : (
              <span class="bad">
                off since <Time at={disabledAt} />: it answered 410
              </span>
            ),
        },
        { title: "Pending", isNumber: true, cell: ({ pending }) => String(pending) },
        { title: "Given up", isNumber: true, cell: ({ dead }) => String(dead) },
        { title: "Queued up to", cell: ({ sequence }) => (sequence === 0 ? "—" : <EntryLink seq={sequence} />) },
        { title: "Decide", cell: (each) => <Action of={enabling(tenant, each)} /> },
      ]}
    />
  );
}

const EMPTY = "No delivery is like this. An event makes one for each receiver that asks for it.";

export function Deliveries({ of, empty }: { of: readonly Delivery[]; empty: string }) {
  const { tenant } = useDesk().session;
  return (
    <Table
      name="Deliveries"
      rows={of}
      id={({ deliveryId }) => deliveryId}
      kind={({ status }) => status}
      empty={empty}
      columns={[
        { title: "Happened", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { title: "Event", cell: ({ type, sequence }) => [type, " ", <EntryLink key="entry" seq={sequence} />] },
        { title: "Receiver", cell: ({ receiver }) => <bdi>{receiver}</bdi> },
        { title: "Status", cell: ({ status }) => <span class={status === "dead" ? "bad" : ""}>{status}</span> },
        { title: "Attempts", isNumber: true, cell: ({ attempts }) => String(attempts) },
        { title: "Next attempt", cell: ({ nextAttemptAt }) => <Time at={nextAttemptAt} /> },
        { title: "Last answer", cell: ({ lastAnswer }) => <LastAnswer of={lastAnswer} /> },
        { title: "Decide", cell: (each) => <Action of={replaying(tenant, each)} /> },
      ]}
    />
  );
}

function LastAnswer({ of }: { of: Delivery["lastAnswer"] }) {
  if (of === null) return <span>—</span>;
  return (
    <bdi>
      <Time at={of.at} /> {of.status ?? "no answer"} {of.excerpt}
    </bdi>
  );
}

const replaying = (tenant: string, { deliveryId, type, receiver }: Delivery): ActionOf<void> => ({
  label: "Replay",
  thing: `${type} to ${receiver}`,
  scope: "config",
  explain: () => <p>The event is sent to {receiver} again, also if it was delivered before.</p>,
  run: (api) => api.replayWebhook({ id: deliveryId }),
  line: (_values, reason) => pmctl(tenant, "webhook", "replay", deliveryId, ...option("reason", reason)),
  done: (result) =>
    `Sent again: ${counted((result as WireResult<"replayWebhook">).replayed.length, "delivery", "deliveries")}.`,
});

const enabling = (tenant: string, { name, enabled, pending }: Receiver): ActionOf<void> => ({
  label: "Enable",
  thing: name,
  scope: "config",
  explain: () => <p>{counted(pending, "event")} that wait for it are delivered, and later ones too.</p>,
  run: (api) => api.enableWebhookReceiver({ name }),
  line: (_values, reason) => pmctl(tenant, "webhook", "enable", name, ...option("reason", reason)),
  done: () => `${name} gets events again.`,
  unfit: enabled ? "It is on." : undefined,
});
