import type { ExitCode } from "../errors.ts";
import { Output, type OutputOptions, type View } from "./output.ts";
import { type Column, type ToldField, toldFields } from "./table.ts";

type Item = Readonly<Record<string, unknown>>;

/** One tenant's result: its rows, one item for anything else, and their columns in a table. */
interface Result {
  items: readonly { item: Item; cells: readonly string[] }[];
  columns: readonly Column<Item>[];
  empty: string;
}

/** Output of a command for several tenants: keeps each result, and puts the tenant's name before each message. */
export class TenantOutput extends Output {
  readonly results: Result[] = [];
  readonly #tenant: string;

  constructor(options: OutputOptions, tenant: string) {
    super({ ...options, subject: { ...options.subject, tenant } });
    this.#tenant = tenant;
  }

  override async print<Value extends object, Row extends object>(value: Value, view: View<Value, Row>): Promise<void> {
    this.results.push(resultOf(value, view, this.#tenant, this.format === "markdown"));
  }

  override note(message: string): void {
    super.note(`${this.#tenant}: ${message}`);
  }

  override fail(error: unknown): ExitCode {
    return super.fail(error, this.#tenant);
  }
}

/** Prints the results of several tenants as one list, each item with its tenant first. */
export async function printTogether(results: readonly Result[], options: OutputOptions): Promise<void> {
  const [first] = results;
  if (!first) return;
  const shown = results.flatMap(({ items }) => items);
  const cells = new Map(shown.map(({ item, cells: texts }) => [item, texts]));
  const { fields } = options;
  const output = new Output({
    ...options,
    fields: fields && ["tenant", ...fields.filter((field) => field !== "tenant")],
  });
  const together: View<readonly Item[], Item> = {
    kind: "list",
    rows: (items) => items,
    columns: first.columns.map((column, index) => ({ ...column, cell: (item) => cells.get(item)?.[index] ?? "" })),
    empty: first.empty,
  };
  await output.print(
    shown.map(({ item }) => item),
    together,
  );
}

function resultOf<Value extends object, Row extends object>(
  value: Value,
  view: View<Value, Row>,
  tenant: string,
  isKept: boolean,
): Result {
  const of = (row: object, texts: readonly string[]) => ({ item: { tenant, ...row }, cells: [tenant, ...texts] });
  const own: Column<Item> = { title: "TENANT", cell: () => tenant, whole: true };
  if (view.kind === "list") {
    const rows = view.rows(value);
    const items = rows.map((row) =>
      of(
        row,
        view.columns.map(({ cell, lasting }) => (isKept && lasting ? lasting(row) : cell(row, rows))),
      ),
    );
    return {
      items,
      columns: [own, ...view.columns.map(unfilled)],
      empty: view.empty,
    };
  }
  const fields =
    view.kind === "record" ? toldFields(view.fields(value)) : [["result", view.text(value)] satisfies ToldField];
  const items = [
    of(
      value,
      fields.map(([, text, below = []]) => [text, ...below.map((line) => line.trim())].join(" ").trim()),
    ),
  ];
  return {
    items,
    columns: [own, ...fields.map(([name]) => ({ title: name.toUpperCase(), cell: nothing }))],
    empty: "",
  };
}

/** A column's looks without its texts, which were kept. */
function unfilled<Row>({ cell: _, lasting: __, paint: ___, ...looks }: Column<Row>): Column<Item> {
  return { ...looks, cell: nothing };
}

const nothing = () => "";
