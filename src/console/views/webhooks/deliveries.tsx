import type { WireResult } from "../../../contract/operations.ts";
import { counted } from "../../../domain/text.ts";
import { useDesk } from "../../desk.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { EntryLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { addressOf } from "../../router.ts";
import { option, pmctl } from "../../terminal-line.ts";

type OneDelivery = WireResult<"listWebhookDeliveries">["items"][number];

/** @param query the filters, which the address of a delivery keeps */
export function Deliveries({
  of,
  empty,
  query,
}: {
  of: readonly OneDelivery[];
  empty: string;
  query?: URLSearchParams;
}) {
  const { tenant } = useDesk().session;
  const others = Object.fromEntries(query ?? []);
  return (
    <Table
      name="Deliveries"
      rows={of}
      id={({ deliveryId }) => deliveryId}
      kind={({ status }) => status}
      empty={empty}
      columns={[
        { title: "Happened", cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          title: "Event",
          cell: ({ type, deliveryId, sequence }) => (
            <>
              <a href={addressOf("/webhooks", { ...others, delivery: deliveryId })}>{type}</a> (
              <EntryLink seq={sequence} />)
            </>
          ),
        },
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

export function LastAnswer({ of }: { of: OneDelivery["lastAnswer"] }) {
  if (of === null) return <span>—</span>;
  return (
    <bdi>
      <Time at={of.at} /> {of.status ?? "no answer"} {of.excerpt}
    </bdi>
  );
}

export const replaying = (
  tenant: string,
  { deliveryId, type, receiver }: Pick<OneDelivery, "deliveryId" | "type" | "receiver">,
): ActionOf<void> => ({
  label: "Replay",
  thing: `${type} to ${receiver}`,
  scope: "config",
  explain: () => <p>The event is sent to {receiver} again, also if it was delivered before.</p>,
  run: (api) => api.replayWebhook({ id: deliveryId }),
  line: (_values, reason) => pmctl(tenant, "webhook", "replay", deliveryId, ...option("reason", reason)),
  done: (result) =>
    `Sent again: ${counted((result as WireResult<"replayWebhook">).replayed.length, "delivery", "deliveries")}.`,
});
