import type { ComponentChildren } from "preact";
import { outcomeWords, percent } from "../../format.ts";
import { Facts } from "../../parts/facts.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { type Market, Status } from "./words.tsx";

/** The terms of a market, and the texts that were added to its rules. */
export function MarketFacts({ of: market }: { of: Market }) {
  const { id, key, kind, category, status, outcome, yesPrice, noPrice, volume, closeAt, createdAt } = market;
  const { settledAt, reason, resolutionRef, meta, clarifications, corrections } = market;
  return (
    <>
      <Facts
        of={[
          ["Status", <Status key="status" of={status} outcome={outcome} />],
          ["Yes", outcome === null && percent(yesPrice)],
          ["No", outcome === null && percent(noPrice)],
          ["Volume", <Usd key="volume" of={volume} />],
          ["Closes", <Time key="closes" at={closeAt} />],
          ["Created", <Time key="created" at={createdAt} />],
          ["Settled", settledAt && <Time at={settledAt} />],
          [
            "Reason",
            reason && (
              <bdi>
                <Sentence of={reason} />
              </bdi>
            ),
          ],
          ["Decided by", <bdi key="ref">{resolutionRef}</bdi>],
          ["Category", category],
          ["Kind", kind],
          ["Key", key],
          ["Id", <code key="id">{id}</code>],
        ]}
      />
      {Object.keys(meta).length > 0 && (
        <>
          <h2>Further data</h2>
          <Facts
            of={Object.entries(meta).map(([name, value]): [string, ComponentChildren] => [
              name,
              <bdi key={name}>{typeof value === "string" ? value : JSON.stringify(value)}</bdi>,
            ])}
          />
        </>
      )}
      {clarifications.length > 0 && (
        <>
          <h2>Clarifications</h2>
          <ol>
            {clarifications.map(({ id: place, text, at }) => (
              <li key={place}>
                <Time at={at} /> <span dir="auto">{text}</span>
              </li>
            ))}
          </ol>
        </>
      )}
      {corrections.length > 0 && (
        <>
          <h2>Corrections</h2>
          <ol>
            {corrections.map(({ from, to, at, reason: why }) => (
              <li key={at}>
                <Time at={at} /> {outcomeWords(from)} to {outcomeWords(to)}: <span dir="auto">{why}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}
