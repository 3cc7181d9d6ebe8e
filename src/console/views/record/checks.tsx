import type { WireResult } from "../../../contract/operations.ts";
import { useDesk } from "../../desk.ts";
import { count, exactUsd } from "../../format.ts";
import { useAnswer } from "../../live/use-answer.ts";
import { Table } from "../../parts/table.tsx";
import { Terminal } from "../../parts/terminal.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { addressOf } from "../../router.ts";
import { pmctl } from "../../terminal-line.ts";

type Check = WireResult<"explainLedger">[number];

/** Verifies the log and reconciles the ledger when a person asks for it. */
export function Checks() {
  return (
    <div class="checks">
      <Verification />
      <Comparison />
    </div>
  );
}

interface Verified {
  status: WireResult<"getAuditStatus">;
  /** When every entry was last verified, from the first one on. */
  wholeAt: string | null;
}

function Verification() {
  const { tenant } = useDesk().session;
  const { found, isAsking, problem, ask } = useAnswer(async (api, headersOf): Promise<Verified> => {
    const status = await api.getAuditStatus({});
    return { status, wholeAt: headersOf().get("audit-verified-at") };
  });
  return (
    <section aria-label="Verification">
      <button type="button" disabled={isAsking} onClick={ask}>
        Verify now
      </button>
      {isAsking && <progress aria-label="Verification" />}
      {found && !isAsking && <Verdict of={found} />}
      {problem && <p role="alert">{problem}</p>}
      <Terminal line={pmctl(tenant, "audit", "verify")} />
    </section>
  );
}

function Verdict({ of: { status, wholeAt } }: { of: Verified }) {
  const { verified, count: entries, problem, anchor } = status;
  return (
    <>
      <progress aria-label="Verification" value={1} max={1} />
      <p role={verified ? "status" : "alert"} class={verified ? "good" : "bad"}>
        <Sentence
          of={verified ? `The chain of all ${count(entries)} entries holds.` : `The chain is broken: ${problem?.text}.`}
        />{" "}
        {!verified && problem && <a href={addressOf(`/record/${problem.seq}`)}>Entry {problem.seq}</a>}
      </p>
      <p class="soft">
        Verified from the first entry on at <Time at={wholeAt} />; newer entries now.
        {anchor && ` Newest anchor: entry ${anchor.seq}.`}
      </p>
    </>
  );
}

interface Compared {
  result: WireResult<"reconcile">;
  checks: readonly Check[];
  /** The entry that records the result. */
  seq: string | null;
}

function Comparison() {
  const { tenant } = useDesk().session;
  const { found, isAsking, problem, ask } = useAnswer(async (api, headersOf): Promise<Compared> => {
    const result = await api.reconcile({});
    const seq = headersOf().get("audit-seq");
    return { result, seq, checks: await api.explainLedger({}) };
  });
  return (
    <section aria-label="Reconciliation">
      <button type="button" disabled={isAsking} onClick={ask}>
        Reconcile
      </button>
      <p class="soft">Each comparison is recorded in the log, as reconcile.run.</p>
      {problem && <p role="alert">{problem}</p>}
      {found && (
        <>
          <p role={found.result.ok ? "status" : "alert"} class={found.result.ok ? "good" : "bad"}>
            {found.result.ok
              ? "The ledger agrees with itself and with the log."
              : `The ledger disagrees by ${exactUsd(found.result.discrepancy)}.`}{" "}
            {found.seq && <a href={addressOf(`/record/${found.seq}`)}>Entry {found.seq}</a>}
          </p>
          <p class="soft">
            Every row was compared at <Time at={found.result.verifiedAt} />.
          </p>
          <Table
            name="Checks"
            rows={found.checks}
            id={({ name }) => name}
            empty="The server compared nothing."
            columns={[
              { title: "Check", cell: ({ name }) => name },
              { title: "Result", cell: ({ ok }) => (ok ? "agrees" : <strong class="bad">disagrees</strong>) },
              { title: "Stated", isNumber: true, cell: (each) => figure(each, each.stated) },
              { title: "Expected", isNumber: true, cell: (each) => figure(each, each.expected) },
              { title: "First places", cell: (each) => <Places of={each} /> },
            ]}
          />
        </>
      )}
      <Terminal line={pmctl(tenant, "reconcile", "--explain")} />
    </section>
  );
}

const figure = ({ unit }: Check, value: number): string => (unit === "usd" ? exactUsd(value) : count(value));

function Places({ of: check }: { of: Check }) {
  const { places, rows } = check;
  if (rows === 0) return <>—</>;
  return (
    <ul>
      {places.map(({ place, stated, expected, held, said }) => (
        <li key={place}>
          <bdi>
            <Sentence of={`${place}: ${held ?? figure(check, stated)} instead of ${said ?? figure(check, expected)}`} />
          </bdi>
        </li>
      ))}
      {rows > places.length && <li>{count(rows - places.length)} more</li>}
    </ul>
  );
}
