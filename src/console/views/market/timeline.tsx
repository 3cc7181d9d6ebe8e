import { useState } from "preact/hooks";
import { sentenceOf } from "../../../domain/audit/sentence.ts";
import { isolated } from "../../../domain/text.ts";
import { EntryLink } from "../../parts/links.tsx";
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
          { title: "Entry", isNumber: true, cell: ({ seq }) => <EntryLink seq={seq} /> },
        ]}
      />
      {!isWhole && <a href={addressOf("/record", { market: market.id })}>All entries about this market</a>}
    </>
  );
}

/** Who decided the market, when and why: its end, what the oracle found, and each correction, newest first. */
export function Decision({ of: { entries }, market }: { of: Life; market: Market }) {
  return (
    <section aria-label="Decision">
      <h2>Decision</h2>
      {entries
        .filter(({ type }) => DECISIONS.includes(type))
        .map((entry) => (
          <p key={entry.seq}>
            <Time at={entry.ts} />{" "}
            <bdi dir="ltr">
              <Sentence of={sentenceAbout(entry, market)} />
            </bdi>{" "}
            <EntryLink seq={entry.seq} />
          </p>
        ))}
    </section>
  );
}
const DECISIONS: readonly string[] = ["market.settled", "market.voided", "market.corrected", "oracle.resolved"];

/** The page is about one market, so its question need not be in every line. */
function sentenceAbout(entry: Entry, { question }: Market): string {
  return sentenceOf(entry, question).replaceAll(`'${isolated(question)}'`, () => "the market");
}
