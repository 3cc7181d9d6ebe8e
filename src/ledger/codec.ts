import { quoted } from "../postgres/arrays.ts";
import type { Row as Stored } from "../postgres/connect.ts";
import type { Right } from "../postgres/migrate.ts";

/** How a column is sent: as an array of its type or, for a `line`, as lines of text, which need no escaping. */
type ColumnType = "line" | "text" | "bigint" | "integer" | "smallint" | "boolean";

/** How a column stores a field. Null stays null, and neither function sees it. */
interface Column<Value> {
  type: ColumnType;
  /** The column's name if it is not the field's name in snake case. */
  name?: string;
  /** The value as an element of an array literal, or as a line. */
  encode(value: Value): string;
  /** @param stored the driver's value */
  decode(stored: Stored[string]): Value;
}

const plain = { encode: String, decode: (stored: Stored[string]) => stored };

/** Text that is never null or empty and contains no control character. */
export const line = <Value extends string>(): Column<Value> => ({ ...plain, type: "line" });
export const text = <Value extends string>(): Column<Value> => ({ ...plain, type: "text", encode: quoted });
export const flag = (): Column<boolean> => ({ ...plain, type: "boolean" });
export const integer = (): Column<number> => ({ ...plain, type: "integer" });
export const smallint = (): Column<number> => ({ ...plain, type: "smallint" });
/** Amounts, and numbers of audit entries. */
export const bigint = (): Column<bigint> => ({ type: "bigint", encode: String, decode: BigInt });
/** A bigint column whose values a number holds exactly: instants, in milliseconds. */
export const whole = (): Column<number> => ({ type: "bigint", encode: String, decode: Number });
export const json = <Value>(): Column<Value> => ({
  type: "text",
  encode: (value) => quoted(JSON.stringify(value)),
  decode: (stored) => JSON.parse(stored),
});
/** Words without spaces, joined in one text. Unknown words (by `isWord`) are dropped on reading. */
export const words = <Word extends string>(isWord: (word: string) => word is Word): Column<readonly Word[]> => ({
  type: "text",
  encode: (list) => quoted(list.join(" ")),
  decode: (stored) => String(stored).split(" ").filter(isWord),
});
export const named = <Value>(name: string, column: Column<Value>): Column<Value> => ({ ...column, name });

/** A column that may be null. */
export const nullable = <Value>(column: Column<Value>): Column<Value | null> => column;

/** A row that was read at version n (0 before it exists) can only be replaced by version n + 1. */
const version: Column<number> = { type: "bigint", encode: (read) => String(read + 1), decode: Number };

/** What the server and a restore need to know about each table. */
export interface TableFacts {
  name: string;
  /** What the server's login may do with the rows. */
  server: Right;
  /** What proves a backup's rows (`schema.ts`); undefined for a table that is never in a backup. */
  provenBy: Proof | undefined;
}

/** A table of the commit statement: how its rows are written and read. */
export interface TableCodec<Row> extends TableFacts {
  columns: readonly { name: string; type: ColumnType }[];
  /** The names of the primary key's columns; empty for a table of one row. */
  key: readonly string[];
  /** The action if the key exists; undefined for a journal, in which a second insert is an error. */
  onConflict: string | undefined;
  /** Whether the update skips a row that memory read at another version, so that written rows must be counted. */
  isGuarded: boolean;
  /** The rows as parameters of the statement, one per column. */
  encode(rows: readonly Row[]): string[];
  /** The columns that `decode` reads. */
  selected(alias?: string): string;
  decode(stored: Stored): Row;
  /** The parts of the row's primary key, joined by a newline, as a need names the row. */
  keyOf(row: Row): string;
}

/** The fields of the primary key; empty for a table of one row. */
type Key<Row> = readonly Exclude<keyof Row & string, "version">[];
/** The columns in the order of the statement. A field of the row without a column does not compile. */
type Columns<Row> = { [Field in Exclude<keyof Row, "version">]-?: Column<NonNullable<Row[Field]>> };
type Proof = "chain" | "mac";

/** Rows are added and never change. */
export function journal<Row>(name: string, key: Key<Row>, provenBy: Proof, columns: Columns<Row>): TableCodec<Row> {
  return codecOf({ name, server: "insert", provenBy }, key, columns);
}

/** Rows are replaced completely, each guarded by its version. */
export function replaced<Row extends { version: number }>(
  name: string,
  key: Key<Row>,
  provenBy: Proof,
  columns: Columns<Row>,
): TableCodec<Row> {
  const codec = codecOf({ name, server: "update", provenBy }, key, { ...columns, version });
  const update = updateOf(codec, (column) => `excluded.${column}`);
  return { ...codec, onConflict: `${update} where ${name}.version = excluded.version - 1`, isGuarded: true };
}

/** Later writes replace the rows without a guard; the fields of `adds` are added up. */
export function merged<Row>(
  name: string,
  key: Key<Row>,
  provenBy: Proof | undefined,
  columns: Columns<Row>,
  { server, adds }: { server: Right; adds: Key<Row> },
): TableCodec<Row> {
  const codec = codecOf({ name, server, provenBy }, key, columns);
  const added = new Set(adds.map((field) => columns[field].name ?? snakeCase(field)));
  const replacement = (column: string) => `${added.has(column) ? `${name}.${column} + ` : ""}excluded.${column}`;
  return { ...codec, onConflict: updateOf(codec, replacement) };
}

/** A table whose rows and columns differ in shape. */
export function converted<Row, Flat>(
  flat: TableCodec<Flat>,
  flatten: (row: Row) => Flat,
  unflatten: (flat: Flat) => Row,
): TableCodec<Row> {
  return {
    ...flat,
    encode: (rows) => flat.encode(rows.map(flatten)),
    decode: (stored) => unflatten(flat.decode(stored)),
    keyOf: (row) => flat.keyOf(flatten(row)),
  };
}

function updateOf(
  { columns, key }: Pick<TableCodec<unknown>, "columns" | "key">,
  replacement: (column: string) => string,
): string {
  const changed = columns.filter(({ name }) => !key.includes(name));
  return `(${key.join(", ")}) do update set ${changed.map(({ name }) => `${name} = ${replacement(name)}`).join(", ")}`;
}

function codecOf<Row>(facts: TableFacts, key: Key<Row>, columns: Columns<Row>): TableCodec<Row> {
  // `Object.entries` loses the type of the fields' names.
  const fields = fieldsOf(columns) as (Fields[number] & { field: keyof Row & string })[];
  const names = fields.map((field) => field.name);
  const isSingle = key.length === 0;
  const writers = fields.map(({ field, type, encode }) => columnWriter<Row>(type, field, encode));
  if (isSingle) writers.unshift(onlyOne);
  return {
    ...facts,
    columns: isSingle ? [ONE, ...fields] : fields,
    key: isSingle ? [ONE.name] : key.map(snakeCase),
    onConflict: undefined,
    isGuarded: false,
    encode: (rows) => writers.map((write) => write(rows)),
    selected: (alias) => (alias === undefined ? names : names.map((each) => `${alias}.${each}`)).join(", "),
    // Each field of a row has a column.
    decode: (stored) => decodeFields(fields, stored) as Row,
    keyOf: (row) => key.map((field) => row[field]).join("\n"),
  };
}

/** The fields of a query's rows: each column's type, and its name if it is not the field's in snake case. */
type Shape = Readonly<Record<string, Column<unknown>>>;
type Shaped<S extends Shape> = { [Field in keyof S]: S[Field] extends Column<infer Value> ? Value : never };

/** Converts the rows of a query for its reader, like a table's codec. */
export function rowReader<S extends Shape>(shape: S): (stored: Stored) => Shaped<S> {
  const fields = fieldsOf(shape);
  return (stored) => decodeFields(fields, stored) as Shaped<S>;
}

type Fields = readonly ({ field: string } & Required<Column<unknown>>)[];

function fieldsOf(columns: Shape): Fields {
  return Object.entries(columns).map(([field, column]) => ({ field, name: snakeCase(field), ...column }));
}

function decodeFields(fields: Fields, stored: Stored): Stored {
  const row: Stored = {};
  for (const { field, name, decode } of fields) row[field] = stored[name] === null ? null : decode(stored[name]);
  return row;
}

/** The `id` of a table of one row. */
const ONE = { name: "id", type: "smallint" } as const;

/** The `id` of each row of a table of one row. */
const onlyOne = (rows: readonly unknown[]) => `{${rows.map(() => "1").join(",")}}`;

/** Creates the parameter of one column. Appending its cells to one text takes half the time of joining a list. */
function columnWriter<Row>(
  type: ColumnType,
  field: keyof Row,
  encode: Column<unknown>["encode"],
): (rows: readonly Row[]) => string {
  const separator = type === "line" ? "\n" : ",";
  return (rows) => {
    let cells = "";
    let before = "";
    for (const row of rows) {
      const value = row[field];
      cells += before + (value === null ? "NULL" : encode(value));
      before = separator;
    }
    return type === "line" ? cells : `{${cells}}`;
  };
}

function snakeCase(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
