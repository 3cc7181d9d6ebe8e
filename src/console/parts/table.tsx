import type { ComponentChildren } from "preact";
import { useReducer, useRef, useState } from "preact/hooks";
import { count } from "../format.ts";
import { type Drawn, keptOrder } from "./kept-order.ts";
import { RowContext } from "./row.ts";

/** Stated, because parts of a table that a narrow screen draws as blocks have no roles of their own everywhere. */
const as = (role: "table" | "rowgroup" | "row" | "columnheader" | "cell") => ({ role });

/** More rows at once would make the page slow to draw. */
const STEP = 200;

export interface Column<Row> {
  title: string;
  cell(row: Row): ComponentChildren;
  /** Numbers are aligned at their end. */
  isNumber?: boolean;
}

/**
 * Rows with their ids in `data-id`. A wide table scrolls in its own place, by the keyboard too; on a narrow screen each row
 * is a block. Of a long table the first rows are drawn, and more when a person asks.
 * @param name what the table lists, such as "Markets"
 * @param first so many rows are drawn at first
 * @param empty says what to do when there is nothing
 */
export function Table<Row>({
  name,
  rows,
  id,
  columns,
  empty,
  kind,
  first = STEP,
}: {
  name: string;
  rows: readonly Row[];
  id(row: Row): string;
  columns: readonly Column<Row>[];
  empty: ComponentChildren;
  /** Told in `data-kind`. */
  kind?(row: Row): string;
  first?: number;
}) {
  const [most, setMost] = useState(first);
  const { body, drawn, letGo, atRows } = useCalmRows(rows, id, most);
  if (drawn.length === 0) return <p class="empty">{empty}</p>;
  const more = drawn.length - most;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls must be reachable by keyboard */}
      <section class="scroll" tabIndex={0} aria-label={`${name}, table`}>
        <table {...as("table")} aria-label={name}>
          <thead {...as("rowgroup")}>
            <tr {...as("row")}>
              {columns.map(({ title, isNumber }) => (
                <th key={title} {...as("columnheader")} scope="col" class={isNumber ? "number" : undefined}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody {...as("rowgroup")} ref={body} {...atRows}>
            {drawn.slice(0, most).map(({ row, isGone }) => (
              <RowContext.Provider key={id(row)} value={{ isGone, letGo }}>
                <tr {...as("row")} data-id={id(row)} data-kind={kind?.(row)} data-stale={isGone ? "true" : undefined}>
                  {columns.map(({ title, cell, isNumber }) => (
                    <td key={title} {...as("cell")} data-label={title} class={isNumber ? "number" : undefined}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
              </RowContext.Provider>
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

/** Rows keep their places while the pointer or the focus is in them: what a person reads or is about to press stays there. */
function useCalmRows<Row>(rows: readonly Row[], id: (row: Row) => string, most: number) {
  const body = useRef<HTMLTableSectionElement>(null);
  const drawn = useRef<readonly Drawn<Row>[]>([]);
  const isAtRows = useRef(false);
  const [, redraw] = useReducer((turn: number) => turn + 1, 0);
  const place = body.current;
  const isHeld = isAtRows.current && place && (place.matches(":hover") || place.contains(document.activeElement));
  drawn.current = isHeld ? keptOrder(drawn.current, rows, id, most) : rows.map((row) => ({ row, isGone: false }));
  const come = (): void => {
    isAtRows.current = true;
  };
  const look = (): void => void setTimeout(() => redraw(undefined));
  const letGo = (): void => {
    isAtRows.current = false;
    look();
  };
  return {
    body,
    drawn: drawn.current,
    letGo,
    atRows: { onPointerMove: come, onFocusIn: come, onPointerLeave: look, onFocusOut: look },
  };
}
