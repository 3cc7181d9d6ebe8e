import { isFailing } from "../../../client/inbox/waiting.ts";
import type { WireResult } from "../../../contract/operations.ts";
import { counted } from "../../../domain/text.ts";
import { useDesk } from "../../desk.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { EntryLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { option, pmctl } from "../../terminal-line.ts";

type Receiver = WireResult<"listWebhookReceivers">[number];

export function Receivers({ of }: { of: readonly Receiver[] }) {
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
          cell: (receiver) =>
            isFailing(receiver) ? (
              <span class="bad">failing: its last {receiver.failures} attempts</span>
            ) : receiver.enabled ? (
              <span class="good">on</span>
            ) : (
              <span class="bad">
                off since <Time at={receiver.disabledAt} />: it answered 410
              </span>
            ),
        },
        { title: "Pending", isNumber: true, cell: ({ pending }) => String(pending) },
        { title: "Given up", isNumber: true, cell: ({ dead }) => String(dead) },
        { title: "Queued up to", cell: ({ sequence }) => (sequence === 0 ? "—" : <EntryLink seq={sequence} />) },
        {
          title: "Decide",
          cell: (each) => (
            <span class="ways">
              <Action of={enabling(tenant, each)} />
              <Action of={testing(tenant, each)} />
            </span>
          ),
        },
      ]}
    />
  );
}

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

const testing = (tenant: string, { name, enabled }: Receiver): ActionOf<void> => ({
  label: "Send a test event",
  thing: name,
  scope: "config",
  explain: () => (
    <p>
      It gets the event webhook.test, whichever events it asks for: signed, delivered and tried again like every other
      one. It stands among the deliveries.
    </p>
  ),
  run: (api) => api.testWebhookReceiver({ name }),
  line: (_values, reason) => pmctl(tenant, "webhook", "test", name, ...option("reason", reason)),
  done: () => `A test event goes to ${name}.`,
  unfit: enabled ? undefined : "It is off. Enable it first.",
});
