import type { ComponentChildren } from "preact";
import { useReducer, useRef, useState } from "preact/hooks";
import { count } from "../format.ts";
import { type Drawn, keptOrder } from "./kept-order.ts";
import { RowContext } from "./row.ts";

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
  const { body, drawn, letGo, atRows } = useCalmRows(rows, id, most);
  if (drawn.length === 0) return <p class="empty">{empty}</p>;
  const more = drawn.length - most;
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
          <tbody ref={body} {...atRows}>
            {drawn.slice(0, most).map(({ row, isGone }) => (
              <RowContext.Provider key={id(row)} value={{ isGone, letGo }}>
                <tr data-id={id(row)} data-kind={kind?.(row)} data-stale={isGone ? "true" : undefined}>
                  {columns.map(({ title, cell, isNumber }) => (
                    <td key={title} class={isNumber ? "number" : undefined}>
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
