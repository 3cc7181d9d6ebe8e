import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count } from "../format.ts";

/** More rows at once would make the page slow to draw. */
const STEP = 200;

export interface Column<Row> {
  title: string;
  cell(row: Row): ComponentChildren;
  /** Numbers are aligned at their end. */
  isNumber?: boolean;
}

/**
 * Rows with their ids in `data-id`. A wide table scrolls in its own place, by the keyboard too. Of a long one the first
 * rows are drawn, and more when a person asks.
 * @param name what the table lists, such as "Markets"
 * @param empty says what to do when there is nothing
 */
export function Table<Row>({
  name,
  rows,
  id,
  columns,
  empty,
  kind,
}: {
  name: string;
  rows: readonly Row[];
  id(row: Row): string;
  columns: readonly Column<Row>[];
  empty: ComponentChildren;
  /** Told in `data-kind`. */
  kind?(row: Row): string;
}) {
  const [most, setMost] = useState(STEP);
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const more = rows.length - most;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls must be reachable by keyboard */}
      <section class="scroll" tabIndex={0} aria-label={`${name}, table`}>
        <table aria-label={name}>
          <thead>
            <tr>
              {columns.map(({ title, isNumber }) => (
                <th key={title} scope="col" class={isNumber ? "number" : undefined}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map((row) => (
              <tr key={id(row)} data-id={id(row)} data-kind={kind?.(row)}>
                {columns.map(({ title, cell, isNumber }) => (
                  <td key={title} class={isNumber ? "number" : undefined}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {more > 0 && (
        <p class="pager">
          <button type="button" onClick={() => setMost(most + STEP)}>
            Show {count(Math.min(STEP, more))} of {count(more)} more
          </button>
        </p>
      )}
    </>
  );
}
