import type { Api, WireResult } from "../../../contract/operations.ts";
import type { AuditType } from "../../../domain/audit/audit-payloads.ts";
import { useLive } from "../../live/use-live.ts";
import { Download } from "../../parts/download.tsx";
import { EntryLink, TraderLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";

type Entry = WireResult<"listAudit">["entries"][number];

const ROWS = 20;

/** A kind of payments: the type of their entries in the log, and what its table says. */
export interface PaymentKind {
  name: string;
  type: Extract<AuditType, "wallet.credited" | "wallet.debited" | "payment.conflict">;
  /** The file of the download. */
  file: string;
  empty: string;
}

export const DEPOSITS: PaymentKind = {
  name: "Deposits",
  type: "wallet.credited",
  file: "deposits",
  empty: "No money came in yet. Deposits arrive by the payment provider's webhook, or by a credit on a trader's page.",
};
export const REFUNDS: PaymentKind = {
  name: "Refunds and disputes",
  type: "wallet.debited",
  file: "refunds",
  empty: "No refund, dispute or debit. They arrive by the payment provider's webhook.",
};
export const CONFLICTS: PaymentKind = {
  name: "Payments that moved nothing",
  type: "payment.conflict",
  file: "conflicts",
  empty: "No payment contradicts the record. There is nothing to do.",
};

/** The newest payments of a kind, as the log has them. */
export function Payments({ of: { name, type, file, empty } }: { of: PaymentKind }) {
  const live = useLive((api) => api.listAudit({ type, limit: ROWS }), type);
  return (
    <Section title={name} live={live}>
      {({ entries, cursor }) => (
        <>
          <Table
            name={name}
            rows={entries}
            id={({ seq }) => String(seq)}
            empty={empty}
            columns={[
              { title: "Entry", cell: ({ seq }) => <EntryLink seq={seq} /> },
              { title: "When", cell: ({ ts }) => <Time at={ts} /> },
              { title: "Trader", cell: ({ payload }) => trader(payload.userId) },
              { title: "Amount", isNumber: true, cell: ({ payload }) => <Usd of={dollars(payload.amount)} /> },
              { title: "Debt in it", isNumber: true, cell: ({ payload }) => <Usd of={dollars(payload.receivable)} /> },
              { title: "Provider", cell: ({ payload }) => <bdi>{words(payload.provider)}</bdi> },
              { title: "Reference", cell: ({ payload }) => <bdi>{words(payload.txRef)}</bdi> },
              {
                title: "Why",
                cell: ({ payload }) => (
                  <bdi dir="auto">{words(payload.cause ?? payload.problem ?? payload.reason)}</bdi>
                ),
              },
            ]}
          />
          {entries.length > 0 && (
            <div class="ways">
              {cursor !== null && <a href={addressOf("/record", { type })}>Older ones in the record</a>}
              <Download file={file} columns={COLUMNS} read={(api, page) => readPayments(api, type, page)} />
            </div>
          )}
        </>
      )}
    </Section>
  );
}

const COLUMNS = [
  "seq",
  "ts",
  "type",
  "actor",
  "userId",
  "amount",
  "receivable",
  "provider",
  "txRef",
  "cause",
  "problem",
  "reason",
];

async function readPayments(api: Api, type: PaymentKind["type"], page: { limit: number; cursor: string | undefined }) {
  const { entries, cursor } = await api.listAudit({ type, ...page });
  return { items: entries.map(flat), nextCursor: cursor };
}

const flat = ({ seq, ts, type, actor, payload }: Entry) => ({ ...payload, seq, ts, type, actor });

const trader = (id: unknown) => (typeof id === "string" ? <TraderLink id={id} /> : "—");
const words = (value: unknown): string => (typeof value === "string" ? value : "—");
const dollars = (text: unknown): number | null => (typeof text === "string" ? Number(text) : null);
