import { useDesk } from "../../desk.ts";
import { useLive } from "../../live/use-live.ts";
import { Facts } from "../../parts/facts.tsx";
import { EntryLink } from "../../parts/links.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Time } from "../../parts/time.tsx";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { pmctl } from "../../terminal-line.ts";
import { LastAnswer } from "./deliveries.tsx";

const BEAT_MS = 2000;

/** One delivery: its attempts, and the payload as its receiver gets it. */
export function Delivery({ id, query }: { id: string; query: URLSearchParams }) {
  const { tenant } = useDesk().session;
  const live = useLive((api) => api.getWebhookDelivery({ id }), id, BEAT_MS);
  const close = addressOf("/webhooks", { ...Object.fromEntries(query), delivery: undefined });
  return (
    <>
      <Section title="Delivery" live={live} isAsked>
        {({ eventId, type, receiver, sequence, status, attempts, createdAt, nextAttemptAt, lastAnswer, body }) => (
          <>
            <Facts
              of={[
                ["Event", type],
                ["From", <EntryLink key="entry" seq={sequence} />],
                ["Receiver", <bdi key="receiver">{receiver}</bdi>],
                ["webhook-id", <code key="id">{eventId}</code>],
                ["Happened", <Time key="happened" at={createdAt} />],
                ["Status", status],
                ["Attempts", attempts === 0 ? "none yet" : String(attempts)],
                ["Last answer", <LastAnswer key="answer" of={lastAnswer} />],
                ["Next attempt", nextAttemptAt && <Time key="next" at={nextAttemptAt} />],
              ]}
            />
            <p class="soft">
              Of the attempts, their number and the last answer are kept. A replay counts them anew, and is recorded in
              the log.
            </p>
            <h3>Payload</h3>
            {body === null ? (
              <p class="empty">The audit log does not contain this event in its sealed form. Verify it on Record.</p>
            ) : (
              <pre class="payload" dir="auto">
                {body}
              </pre>
            )}
          </>
        )}
      </Section>
      <Terminal line={pmctl(tenant, "webhook", "delivery", id)} />
      <p>
        <a href={close}>Close the delivery</a>
      </p>
    </>
  );
}
