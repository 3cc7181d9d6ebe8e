import type { WireResult } from "../../../contract/operations.ts";
import { credentialFaultSentence, isCredentialFault } from "../../../domain/access/credential-faults.ts";
import { SECURITY_TEXTS, type SecurityEvent } from "../../../domain/access/security.ts";
import { count } from "../../format.ts";
import { TraderLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { addressOf } from "../../router.ts";

/** The latest refused requests; each leads to its explanation. */
export function Refusals({
  of,
  path,
  query,
}: {
  of: WireResult<"listRefusals">["items"];
  path: string;
  query: URLSearchParams;
}) {
  const others = Object.fromEntries(query);
  return (
    <Table
      name="Refusals"
      rows={of}
      id={({ requestId }) => requestId}
      kind={({ code }) => code}
      empty="This server remembers no refused change and no refused user token."
      columns={[
        { title: "When", cell: ({ ts }) => <Time at={ts} /> },
        { title: "Refused", cell: ({ operation }) => operation },
        { title: "Who", cell: ({ actor, userId }) => (userId ? <TraderLink id={userId} /> : <bdi>{actor}</bdi>) },
        {
          title: "Said",
          cell: ({ error }) => (
            <bdi dir="auto">
              <Sentence of={error} />
            </bdi>
          ),
        },
        { title: "Code", cell: ({ code }) => <code>{code}</code> },
        {
          title: "Explained",
          cell: ({ requestId }) => <a href={addressOf(path, { ...others, why: requestId })}>Why {requestId}</a>,
        },
      ]}
    />
  );
}

/** Who was turned away at the door and why, and which keys were used. */
export function Turned({ of }: { of: WireResult<"listSecurityEvents">["entries"] }) {
  return (
    <Table
      name="Security events"
      rows={of}
      id={({ ts, event, address, route, reason }) => [ts, event, address, route, reason].join(" ")}
      kind={({ event }) => event}
      empty="No such event is on record."
      columns={[
        { title: "When", cell: ({ ts }) => <Time at={ts} /> },
        { title: "Event", cell: ({ event }) => event },
        { title: "Why", cell: (entry) => <bdi dir="auto">{whyOf(entry)}</bdi> },
        { title: "From", cell: ({ address }) => <bdi>{address ?? "—"}</bdi> },
        { title: "Key", cell: ({ keyName, fingerprint }) => <bdi>{keyName ?? fingerprint ?? "—"}</bdi> },
        { title: "Path", cell: ({ route }) => <bdi>{route ?? "—"}</bdi> },
        { title: "Times", isNumber: true, cell: ({ count: times }) => count(times) },
      ]}
    />
  );
}

function whyOf({ event, reason, detail }: WireResult<"listSecurityEvents">["entries"][number]): string {
  const said = SECURITY_TEXTS[event as SecurityEvent] ?? event;
  return `${said} (${reason})${isCredentialFault(detail) ? `: ${credentialFaultSentence(detail)}` : ""}`;
}
