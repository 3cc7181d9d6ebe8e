import type { Api, WireResult } from "../../../contract/operations.ts";
import { sentenceOf } from "../../../domain/audit/sentence.ts";
import { microFromDecimal, usdFromMicro } from "../../../domain/money.ts";
import { useDesk } from "../../desk.ts";
import { useLive } from "../../live/use-live.ts";
import { EntryLink } from "../../parts/links.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { pmctlAbout } from "../../terminal-line.ts";

type Log = WireResult<"listAudit">;
type Entry = Log["entries"][number];
type Delivery = WireResult<"listWebhookDeliveries">["items"][number];

const ROWS = 25;
/** A request searches a part of the log. So many are sent until a page is full. */
const SEARCHES = 3;
const DELIVERIES = 200;

/** Everything that the log says about a trader, newest first, and the webhooks about it. */
export function Statement({ id, query }: { id: string; query: URLSearchParams }) {
  const { tenant } = useDesk().session;
  const cursor = query.get("cursor") ?? undefined;
  const live = useLive(
    async (api) => {
      const [log, { items }] = await Promise.all([
        readLog(api, id, cursor),
        api.listWebhookDeliveries({ limit: DELIVERIES }),
      ]);
      const shown = new Set(log.entries.map(({ seq }) => seq));
      return { ...log, deliveries: items.filter(({ sequence }) => shown.has(sequence)) };
    },
    `${id} ${cursor ?? ""}`,
  );
  return (
    <Section title="Statement" live={live}>
      {({ entries, questions = {}, cursor: nextCursor, deliveries }) => (
        <>
          <Table
            name="Statement"
            rows={entries}
            id={({ seq }) => String(seq)}
            kind={({ type }) => type}
            empty={
              nextCursor === null
                ? "The log says nothing about the trader."
                : "Nothing in this part of the log. Go to the next page."
            }
            columns={[
              { title: "Entry", cell: ({ seq }) => <EntryLink seq={seq} /> },
              { title: "When", cell: ({ ts }) => <Time at={ts} /> },
              {
                title: "What",
                cell: (entry) => <bdi dir="ltr">{sentenceOf(entry, questions[String(entry.payload.marketId)])}</bdi>,
              },
              { title: "Wallet", isNumber: true, cell: (entry) => <Usd of={walletChange(entry)} /> },
              {
                title: "Why",
                cell: ({ payload: { reason } }) => <bdi>{typeof reason === "string" ? reason : "—"}</bdi>,
              },
            ]}
          />
          <Pager path={`/traders/${encodeURIComponent(id)}`} query={query} nextCursor={nextCursor} />
          <p class="soft">
            What settled markets paid is in the entries of the markets.{" "}
            <a href={addressOf("/record", { user: id })}>Filter the record</a>
          </p>
          <Terminal line={pmctlAbout(tenant, id, "user", "statement")} />
          <Deliveries of={deliveries} />
        </>
      )}
    </Section>
  );
}

function Deliveries({ of }: { of: readonly Delivery[] }) {
  return (
    <>
      <h2>Webhooks</h2>
      <Table
        name="Deliveries"
        rows={of}
        id={({ deliveryId }) => deliveryId}
        empty={
          <>
            None of the latest {DELIVERIES} webhooks is about these entries.{" "}
            <a href={addressOf("/webhooks")}>Look at all webhooks</a>
          </>
        }
        columns={[
          { title: "Event", cell: ({ type }) => <a href={addressOf("/webhooks")}>{type}</a> },
          { title: "Receiver", cell: ({ receiver }) => <bdi>{receiver}</bdi> },
          { title: "Status", cell: ({ status }) => (status === "dead" ? "given up" : status) },
          { title: "Attempts", isNumber: true, cell: ({ attempts }) => attempts },
          { title: "Of", cell: ({ sequence }) => <EntryLink seq={sequence} /> },
        ]}
      />
    </>
  );
}

async function readLog(api: Api, userId: string, from: string | undefined): Promise<Log> {
  let [cursor, questions]: [string | undefined, Log["questions"]] = [from, {}];
  const entries: Entry[] = [];
  for (let turn = 0; turn < SEARCHES && entries.length < ROWS; turn += 1) {
    const page = await api.listAudit({ userId, cursor, limit: ROWS - entries.length });
    entries.push(...page.entries);
    questions = { ...questions, ...page.questions };
    if (page.cursor === null) return { entries, questions, cursor: null };
    cursor = page.cursor;
  }
  return { entries, questions, cursor: cursor ?? null };
}

/** What an entry put into the trader's wallet or took out, in dollars; null where it moved nothing. */
export function walletChange({ type, payload }: Pick<Entry, "type" | "payload">): number | null {
  const part = (name: string): bigint => microFromDecimal(String(payload[name] ?? "0"));
  switch (type) {
    case "trade.executed":
      return usdFromMicro(payload.action === "sell" ? part("amount") - part("fee") : -part("amount"));
    case "wallet.credited":
      return usdFromMicro(part("amount") - part("receivable"));
    case "wallet.debited":
      return usdFromMicro(part("receivable") - part("amount"));
    case "withdrawal.requested":
      return usdFromMicro(-part("amount"));
    case "withdrawal.rejected":
      return usdFromMicro(part("amount"));
    default:
      return null;
  }
}
