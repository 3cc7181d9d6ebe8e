import { useState } from "preact/hooks";
import { readPages } from "../../client/pages.ts";
import { csvOf } from "../../contract/csv.ts";
import type { Api } from "../../contract/operations.ts";
import { useDesk } from "../desk.ts";
import { count } from "../format.ts";

type Row = Readonly<Record<string, unknown>>;
type Part = Parameters<Parameters<typeof readPages<Row>>[1]>[0];

/** The most rows of a file: 50 requests. The command line exports without a bound. */
const MOST_ROWS = 10_000;

/**
 * Makes a file of a list in the page, which the API answers page by page. Cells that a spreadsheet would run are
 * neutralised as in the files of the command line.
 * @param file the file's name without its ending
 */
export function Download({
  file,
  columns,
  read,
}: {
  file: string;
  columns: readonly string[];
  read(api: Api, part: Part): Promise<{ items: Row[]; nextCursor: string | null }>;
}) {
  const { api, session } = useDesk();
  const [isReading, setReading] = useState(false);
  const [told, setTold] = useState("");
  const make = async (): Promise<void> => {
    setReading(true);
    setTold("");
    try {
      const { items, nextCursor } = await readPages(MOST_ROWS, (part) => read(api, part));
      save(`${session.tenant}-${file}.csv`, csvOf(columns, items), "text/csv");
      const rest = nextCursor === null ? "all of them" : "the newest ones; older ones are not in the file";
      setTold(`${count(items.length)} rows, ${rest}.`);
    } catch (error) {
      setTold(error instanceof Error ? error.message : "Unexpected failure");
    } finally {
      setReading(false);
    }
  };
  return (
    <p class="ways download">
      <button type="button" disabled={isReading} onClick={() => void make()}>
        Download CSV
      </button>
      <span role="status" class="soft">
        {isReading ? "Reading …" : told || `At most ${count(MOST_ROWS)} rows, newest first.`}
      </span>
    </p>
  );
}

/** Gives the person a file that is made in the page. @param type its media type */
export function save(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
