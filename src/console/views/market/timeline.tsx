import { useState } from "preact/hooks";
import { sentenceOf } from "../../../domain/audit/sentence.ts";
import { isolated } from "../../../domain/text.ts";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { addressOf } from "../../router.ts";
import type { Entry, Life } from "./life.ts";
import type { Market } from "./words.tsx";

const STEP = 50;

/** Everything that the audit log says about the market, newest first. */
export function Timeline({ of: { entries, isWhole }, market }: { of: Life; market: Market }) {
  const [most, setMost] = useState(STEP);
  const [hasTrades, setTrades] = useState(true);
  const wanted = hasTrades ? entries : entries.filter(({ type }) => type !== "trade.executed");
  return (
    <>
      <h2>Timeline</h2>
      <label class="choice">
        <input type="checkbox" checked={hasTrades} onChange={({ currentTarget }) => setTrades(currentTarget.checked)} />{" "}
        Trades too
      </label>
      <Table
        name="Timeline"
        rows={wanted.slice(0, most)}
        id={({ seq }) => String(seq)}
        kind={({ type }) => type}
        empty="Only trades are on record. Tick Trades too."
        columns={[
          { title: "When", cell: ({ ts }) => <Time at={ts} /> },
          { title: "What", cell: (entry) => <bdi dir="ltr">{sentenceAbout(entry, market)}</bdi> },
          { title: "Entry", isNumber: true, cell: ({ seq }) => <a href={addressOf(`/record/${seq}`)}>Entry {seq}</a> },
        ]}
      />
      <p class="pager">
        {wanted.length > most && (
          <button type="button" onClick={() => setMost((before) => before + STEP)}>
            Show earlier entries
          </button>
        )}
        {!isWhole && <a href={addressOf("/record", { market: market.id })}>All entries about this market</a>}
      </p>
    </>
  );
}

/** The page is about one market, so its question need not be in every line. */
function sentenceAbout(entry: Entry, { question }: Market): string {
  return sentenceOf(entry, question).replaceAll(`'${isolated(question)}'`, () => "the market");
}
