import type { WireInput } from "../../../contract/operations.ts";
import { useDesk, type ViewProps } from "../../desk.ts";
import { useLive } from "../../live/use-live.ts";
import { Pager } from "../../parts/pager.tsx";
import { Filter, Search } from "../../parts/search.tsx";
import { View } from "../../parts/view.tsx";
import { option, pmctl } from "../../terminal-line.ts";
import { Deliveries } from "./deliveries.tsx";
import { Delivery } from "./delivery.tsx";
import { Inbound, Received, Refused } from "./inbound.tsx";
import { Receivers } from "./receivers.tsx";
import { Secrets } from "./secrets.tsx";

const PATH = "/webhooks";
const PAGE = 50;
/** Of the refusals of any credential: the signatures among them are shown. */
const REFUSALS = 200;
const EMPTY = "No delivery is like this. An event makes one for each receiver that asks for it.";
/** Attempts leave no entry in the log that says when to read again. */
const BEAT_MS = 2000;
const STATUSES = [
  ["", "Any"],
  ["pending", "Pending"],
  ["delivered", "Delivered"],
  ["dead", "Given up"],
] as const;

/** Outgoing events by receiver with their attempts and payloads, what providers sent, and the secrets of both. */
export function WebhooksView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const stated = (name: string): string | undefined => query.get(name) || undefined;
  const [receiver, status, userId] = [stated("receiver"), stated("status"), stated("user")];
  const [delivery, received] = [stated("delivery"), stated("received")];
  const filter = { receiver, status, userId, cursor: stated("cursor") } as WireInput<"listWebhookDeliveries">;
  const fromProvider = { provider: stated("provider"), cursor: stated("inbound") };
  const live = useLive(
    async (api) => {
      const [receivers, deliveries, inbound, security] = await Promise.all([
        api.listWebhookReceivers({}),
        api.listWebhookDeliveries({ ...filter, limit: PAGE }),
        api.listInboundWebhooks({ ...fromProvider, limit: PAGE }),
        api.listSecurityEvents({ event: "auth.failed", limit: REFUSALS }),
      ]);
      return { receivers, deliveries, inbound, refused: security.entries };
    },
    query.toString(),
    BEAT_MS,
  );
  const words = [...option("receiver", receiver), ...option("status", status), ...option("user", userId)];
  const line = pmctl(tenant, "webhook", "deliveries", ...words);
  const at = { path: PATH, query };
  return (
    <View name="Webhooks" live={live} line={line}>
      {({ receivers, deliveries, inbound, refused }) => (
        <>
          {delivery && <Delivery key={delivery} id={delivery} query={query} />}
          {received && <Received key={received} id={received} query={query} />}
          <h2>Receivers</h2>
          <Receivers of={receivers} />
          <h2>Deliveries</h2>
          <div class="tools">
            <Filter {...at} label="Status" name="status" options={STATUSES} />
            <Search {...at} label="Receiver" name="receiver" />
            <Search {...at} label="Trader" name="user" />
          </div>
          <Deliveries of={deliveries.items} empty={EMPTY} query={query} />
          <Pager {...at} nextCursor={deliveries.nextCursor} />
          <h2>Inbound deliveries</h2>
          <div class="tools">
            <Search {...at} label="Provider" name="provider" cursor="inbound" />
          </div>
          <Inbound of={inbound.items} query={query} />
          <Pager {...at} nextCursor={inbound.nextCursor} cursor="inbound" />
          <h2>Latest refused webhooks</h2>
          <Refused of={refused} />
          <Secrets />
        </>
      )}
    </View>
  );
}
