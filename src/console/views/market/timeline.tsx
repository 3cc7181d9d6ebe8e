import { useState } from "preact/hooks";
import { sentenceOf } from "../../../domain/audit/sentence.ts";
import { isolated } from "../../../domain/text.ts";
import { Table } from "../../parts/table.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { addressOf } from "../../router.ts";
import type { Entry, Life } from "./life.ts";
import type { Market } from "./words.tsx";

/** So many entries are drawn at first. */
const DRAWN = 50;

/** Everything that the audit log says about the market, newest first. */
export function Timeline({ of: { entries, isWhole }, market }: { of: Life; market: Market }) {
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
        rows={wanted}
        first={DRAWN}
        id={({ seq }) => String(seq)}
        kind={({ type }) => type}
        empty="Only trades are on record. Tick Trades too."
        columns={[
          { title: "When", cell: ({ ts }) => <Time at={ts} /> },
          {
            title: "What",
            cell: (entry) => (
              <bdi dir="ltr">
                <Sentence of={sentenceAbout(entry, market)} />
              </bdi>
            ),
          },
          { title: "Entry", isNumber: true, cell: ({ seq }) => <a href={addressOf(`/record/${seq}`)}>Entry {seq}</a> },
        ]}
      />
      {!isWhole && <a href={addressOf("/record", { market: market.id })}>All entries about this market</a>}
    </>
  );
}

/** The page is about one market, so its question need not be in every line. */
function sentenceAbout(entry: Entry, { question }: Market): string {
  return sentenceOf(entry, question).replaceAll(`'${isolated(question)}'`, () => "the market");
}
