import { counted } from "../../../domain/text.ts";
import { useDesk } from "../../desk.ts";
import { useLive } from "../../live/use-live.ts";
import { EntryLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Time } from "../../parts/time.tsx";
import { Section } from "../../parts/view.tsx";
import { pmctl } from "../../terminal-line.ts";

/** The entries that the log is known to have contained, by what is kept outside of the database. */
export function Anchors() {
  const { tenant } = useDesk().session;
  const live = useLive((api) => api.listAnchors({}), "");
  return (
    <Section title="Anchors" live={live}>
      {({ anchors, ignored }) => (
        <>
          <p class="soft">
            Entries that the log is known to have contained: by signed statements outside of the database, by the last
            verification, and by what this server has seen. Statements that went to programs, addresses and receivers
            are kept there, and not listed.
          </p>
          {ignored.map((fault) => (
            <p key={fault} class="warn">
              Ignored: <bdi>{fault}</bdi>
            </p>
          ))}
          <details open={anchors.some(({ standing }) => standing === "missing")}>
            <summary>{counted(anchors.length, "anchor")}</summary>
            <Table
              name="Anchors"
              rows={anchors}
              id={({ seq, hash }) => `${seq} ${hash}`}
              kind={({ standing }) => standing}
              empty="No anchor is known. A server writes one at its start and as the log grows."
              columns={[
                { title: "Entry", isNumber: true, cell: ({ seq }) => <EntryLink seq={seq} /> },
                { title: "Of", cell: ({ ts }) => <Time at={ts} /> },
                { title: "In the log", cell: ({ standing }) => STANDINGS[standing] },
                { title: "Kept", cell: ({ places }) => <bdi>{places.join("; ")}</bdi> },
                { title: "Hash", cell: ({ hash }) => <code title={hash}>{hash.slice(0, 12)}…</code> },
              ]}
            />
          </details>
          <Terminal line={pmctl(tenant, "audit", "anchors")} />
        </>
      )}
    </Section>
  );
}

const STANDINGS = {
  held: "yes",
  missing: <strong class="bad">missing: the log was set back or changed</strong>,
  "given up": "no; the loss was accepted",
} as const;
