import { useLive } from "../../live/use-live.ts";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { Withdrawals, waitingApprovals } from "../funds/withdrawals.tsx";
import { Deliveries } from "../webhooks/deliveries.tsx";

const ROWS = 20;

/** A trader's last withdrawals, with their decisions. */
export function OwnWithdrawals({ id }: { id: string }) {
  const live = useLive(async (api) => {
    const [withdrawals, proposals] = await Promise.all([
      api.listWithdrawals({ userId: id, limit: ROWS }),
      waitingApprovals(api),
    ]);
    return { ...withdrawals, proposals };
  }, id);
  return (
    <Section title="Withdrawals" live={live}>
      {({ items, nextCursor, proposals }) => (
        <>
          <Withdrawals rows={items} proposals={proposals} empty="The trader has asked for no withdrawal." />
          {nextCursor !== null && (
            <a href={addressOf("/funds", { status: "all", user: id })}>All withdrawals of the trader</a>
          )}
        </>
      )}
    </Section>
  );
}

/** The last webhooks about a trader's trades, payments and identity checks. */
export function OwnDeliveries({ id }: { id: string }) {
  const live = useLive((api) => api.listWebhookDeliveries({ userId: id, limit: ROWS }), id);
  return (
    <Section title="Webhooks" live={live}>
      {({ items, nextCursor }) => (
        <>
          <Deliveries of={items} empty="No webhook is about the trader's last trades, payments and identity checks." />
          {nextCursor !== null && <a href={addressOf("/webhooks", { user: id })}>All webhooks about the trader</a>}
        </>
      )}
    </Section>
  );
}
