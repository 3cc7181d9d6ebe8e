import type { WireResult } from "../../../contract/operations.ts";
import { SIGNATURE_FAULTS } from "../../../domain/access/signature-faults.ts";
import { useDesk } from "../../desk.ts";
import { count } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { Facts } from "../../parts/facts.tsx";
import { EntryLink, TraderLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Time } from "../../parts/time.tsx";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { option, pmctl } from "../../terminal-line.ts";

type OneInbound = WireResult<"listInboundWebhooks">["items"][number];
type SecurityEntry = WireResult<"listSecurityEvents">["entries"][number];

/** What providers sent and what came of it. @param query the filters, which the address of a webhook keeps */
export function Inbound({ of, query }: { of: readonly OneInbound[]; query: URLSearchParams }) {
  const { tenant } = useDesk().session;
  const others = Object.fromEntries(query);
  return (
    <>
      <Table
        name="Inbound deliveries"
        rows={of}
        id={({ sha256 }) => sha256}
        kind={({ outcome }) => outcome}
        empty="No provider has sent a webhook like this. Give the provider the endpoint's address and a secret of it."
        columns={[
          { title: "Received", cell: ({ receivedAt }) => <Time at={receivedAt} /> },
          { title: "Provider", cell: ({ provider: name }) => <code dir="auto">{name}</code> },
          {
            title: "Event",
            cell: ({ event, provider, sha256 }) => (
              <a href={addressOf("/webhooks", { ...others, received: `${provider} ${sha256}` })} dir="auto">
                {event}
              </a>
            ),
          },
          { title: "Its id", cell: ({ reference }) => <bdi>{reference ?? "—"}</bdi> },
          { title: "User", cell: ({ userId }) => (userId === null ? "—" : <TraderLink id={userId} />) },
          { title: "Came of it", cell: ({ outcome }) => <code>{outcome}</code> },
          { title: "On record", cell: ({ sequence }) => (sequence === null ? "—" : <EntryLink seq={sequence} />) },
        ]}
      />
      <p class="soft">The same bytes again change nothing, and are not listed again.</p>
      <Terminal line={pmctl(tenant, "webhook", "inbound", ...option("provider", query.get("provider") || undefined))} />
    </>
  );
}

/** One webhook: its body if that was kept, and otherwise what it changed. @param id its provider and hash */
export function Received({ id, query }: { id: string; query: URLSearchParams }) {
  const { tenant } = useDesk().session;
  // A provider's name may hold spaces; the hash has 64 digits.
  const [provider, sha256] = [id.slice(0, -65), id.slice(-64)];
  const live = useLive(async (api) => {
    const received = await api.getInboundWebhook({ provider, sha256 });
    const { sequence: seq } = received;
    return { ...received, entry: seq === null ? null : await api.getAuditEntry({ seq }) };
  }, id);
  return (
    <>
      <Section title="Inbound delivery" live={live} isAsked>
        {({ receivedAt, event, outcome, body, entry }) => (
          <>
            <Facts
              of={[
                ["Event", <bdi key="event">{event}</bdi>],
                ["Provider", <bdi key="provider">{provider}</bdi>],
                ["Received", <Time key="received" at={receivedAt} />],
                ["Came of it", outcome],
                ["On record", entry && <EntryLink key="entry" seq={entry.seq} />],
                ["SHA-256 of the body", <code key="hash">{sha256}</code>],
              ]}
            />
            <p class="soft">
              A body holds personal data, so it is kept only of a payment event that changed nothing, up to 64 KiB. Of
              every other one the hash is kept, by which the provider can find it, and the entry with what it changed.
            </p>
            {entry && <h3>Payload of the entry</h3>}
            {entry && <pre class="payload">{JSON.stringify(entry.payload, null, 2)}</pre>}
            {body !== null && <h3>Body</h3>}
            {body !== null && (
              <pre class="payload" dir="auto">
                {body}
              </pre>
            )}
          </>
        )}
      </Section>
      <Terminal line={pmctl(tenant, "webhook", "received", provider, sha256)} />
      <p>
        <a href={addressOf("/webhooks", { ...Object.fromEntries(query), received: undefined })}>
          Close the inbound delivery
        </a>
      </p>
    </>
  );
}

/** Webhooks whose signature did not hold, among the latest refusals. */
export function Refused({ of }: { of: readonly SecurityEntry[] }) {
  const all = <a href={addressOf("/system", { event: "auth.failed" })}>every refusal</a>;
  return (
    <Table
      name="Refused webhooks"
      rows={of.filter(({ reason }) => reason === "signature")}
      id={({ ts, address, route, detail }) => [ts, address, route, detail].join(" ")}
      empty={<>No webhook was refused lately. System has {all}.</>}
      columns={[
        { title: "When", cell: ({ ts }) => <Time at={ts} /> },
        { title: "Endpoint", cell: ({ route }) => <bdi>{route ?? "—"}</bdi> },
        { title: "From", cell: ({ address }) => <bdi>{address ?? "—"}</bdi> },
        { title: "Why", cell: ({ detail }) => whyOf(detail) },
        { title: "Remedy", cell: ({ detail }) => remedyOf(detail) },
        { title: "Times", isNumber: true, cell: ({ count: times }) => count(times) },
      ]}
    />
  );
}

const FAULTS: Readonly<Record<string, readonly [says: string, remedy: string] | undefined>> = SIGNATURE_FAULTS;
const whyOf = (detail: string | null): string => FAULTS[detail ?? ""]?.[0] ?? detail ?? "—";
const remedyOf = (detail: string | null): string => FAULTS[detail ?? ""]?.[1] ?? "—";
