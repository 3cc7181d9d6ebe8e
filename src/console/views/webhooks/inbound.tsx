import type { WireResult } from "../../../contract/operations.ts";
import { SIGNATURE_FAULTS } from "../../../domain/access/signature-faults.ts";
import { useDesk } from "../../desk.ts";
import { count } from "../../format.ts";
import { EntryLink, TraderLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Time } from "../../parts/time.tsx";
import { addressOf } from "../../router.ts";
import { option, pmctl } from "../../terminal-line.ts";

type OneInbound = WireResult<"listInboundWebhooks">["items"][number];
type SecurityEntry = WireResult<"listSecurityEvents">["entries"][number];

/** What providers sent and what came of it. */
export function Inbound({ of, provider }: { of: readonly OneInbound[]; provider: string | undefined }) {
  const { tenant } = useDesk().session;
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
          { title: "Event", cell: ({ event }) => <bdi>{event}</bdi> },
          { title: "Its id", cell: ({ reference }) => <bdi>{reference ?? "—"}</bdi> },
          { title: "User", cell: ({ userId }) => (userId === null ? "—" : <TraderLink id={userId} />) },
          { title: "Came of it", cell: ({ outcome }) => <code>{outcome}</code> },
          { title: "On record", cell: ({ sequence }) => (sequence === null ? "—" : <EntryLink seq={sequence} />) },
        ]}
      />
      <p class="soft">The same bytes again change nothing, and are not listed again.</p>
      <Terminal line={pmctl(tenant, "webhook", "inbound", ...option("provider", provider))} />
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
