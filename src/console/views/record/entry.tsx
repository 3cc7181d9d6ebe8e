import { useDesk, type ViewProps } from "../../desk.ts";
import { useLive } from "../../live/use-live.ts";
import { save } from "../../parts/download.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { pmctl } from "../../terminal-line.ts";
import { NotFound } from "../not-found.tsx";

/** One entry of the audit log: what it says, its payload as it is sealed, and its neighbours in the chain. */
export function EntryView({ id }: ViewProps) {
  return /^[1-9]\d{0,14}$/.test(id) ? <Entry id={id} /> : <NotFound />;
}

function Entry({ id }: { id: string }) {
  const { tenant } = useDesk().session;
  const live = useLive(async (api) => {
    const seq = Number(id);
    const around = { after: Math.max(0, seq - 2), limit: 3 };
    const [entry, { entries }] = await Promise.all([api.getAuditEntry({ seq }), api.listAudit(around)]);
    const at = (place: number) => entries.find((each) => each.seq === place);
    return { entry, before: at(seq - 1), next: at(seq + 1) };
  }, id);
  return (
    <View name={`Entry ${id}`} live={live} line={pmctl(tenant, "audit", "show", id)}>
      {({ entry: { sentence, type, actor, ts, hash, keyId, payload }, before, next }) => (
        <>
          <p>
            <Sentence of={`${sentence}.`} />
          </p>
          <Facts
            of={[
              ["Type", type],
              ["Actor", <bdi key="actor">{actor}</bdi>],
              ["When", <Time key="when" at={ts} />],
              ["Market", linkTo("markets", payload.marketId)],
              ["User", linkTo("traders", payload.userId)],
            ]}
          />
          <h2>Payload</h2>
          <pre class="payload">{JSON.stringify(payload, null, 2)}</pre>
          <h2>Place in the chain</h2>
          <Facts
            of={[
              ["Sealed with the key", keyId],
              ["Hash", <code key="hash">{hash}</code>],
              ["Hash of the entry before, which this one contains", before && <code>{before.hash}</code>],
            ]}
          />
          <Receipt of={{ tenant, seq: Number(id), hash, ts, keyId }} />
          <p class="pager">
            {before && <a href={addressOf(`/record/${before.seq}`)}>Entry {before.seq}</a>}
            {next && <a href={addressOf(`/record/${next.seq}`)}>Entry {next.seq}</a>}
          </p>
        </>
      )}
    </View>
  );
}

/** What `audit verify --anchor` takes as proof that the log contained an entry. */
function Receipt({ of: receipt }: { of: { tenant: string; seq: number; hash: string; ts: string; keyId: string } }) {
  const file = `${receipt.tenant}-entry-${receipt.seq}.ndjson`;
  return (
    <section aria-label="Receipt">
      <h2>Receipt</h2>
      <p>
        Number, hash, time and key of this entry: they prove later that the log contained it and every one before it.
        Keep them where nobody who can write to the database can change them.
      </p>
      <p class="ways">
        <button type="button" onClick={() => save(file, `${JSON.stringify(receipt)}\n`, "application/x-ndjson")}>
          Download the receipt
        </button>
      </p>
      <Terminal line={pmctl(receipt.tenant, "audit", "verify", "--anchor", file)} />
    </section>
  );
}

function linkTo(view: "markets" | "traders", id: unknown) {
  return typeof id === "string" ? <a href={addressOf(`/${view}/${encodeURIComponent(id)}`)}>{id}</a> : "";
}
