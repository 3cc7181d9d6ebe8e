import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadModule, type ParseResult } from "libpg-query";
import { beforeAll, describe, expect, test } from "vitest";
import { parse, parseTemplate, type Template, templatesOf } from "./statements.ts";

const migrations = readdirSync("migrations")
  .filter((name) => name.endsWith(".sql"))
  .map((name) => ({ name, text: readFileSync(join("migrations", name), "utf8") }));
const templates: Template[] = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .flatMap((name) => templatesOf(join("src", name), readFileSync(join("src", name), "utf8")));

let written: { template: Template; tree: ParseResult | undefined }[];
let migrated: { name: string; tree: ParseResult | number }[];

/** The parser of PostgreSQL 15, the oldest version that pmctl runs on. */
beforeAll(async () => {
  await loadModule();
  written = templates.map((template) => ({ template, tree: parseTemplate(template) }));
  migrated = migrations.map(({ name, text }) => ({ name, tree: parse(text) }));
});

describe("PostgreSQL 15 reads", () => {
  test("every migration", () => {
    expect(migrated.filter(({ tree }) => typeof tree === "number").map(({ name }) => name)).toEqual([]);
  });

  test("every statement of the sources, and every piece of one", () => {
    expect(written.length).toBeGreaterThan(300);
    const wrong = written.filter(({ tree }) => tree === undefined);
    expect(wrong.map(({ template: { place, texts } }) => `${place} ${texts.join("…")}`)).toEqual([]);
  });

  // The last column: whether it does. A `…` is a place left open.
  test.each([
    ["select any_value(a) from t", true],
    ["select json_table(a, '$' columns (b int path '$')) from t", false],
    ["insert into t values ($1) returning old.a, new.a as b", true],
    ["merge into t using s on true when matched then delete returning t.a", false],
    ["insert into t (a) values (…) on conflict do select", false],
    ["select 1 from t where a in … and b is json", false],
    ["select …, 1, from t", false],
    ["select 1 from t where … = any(…::text[]) … limit …", true],
  ])("or not: %s %s", (text, isRead) => {
    const tree = parseTemplate({ place: "here", texts: text.split("…") });
    expect(tree !== undefined).toBe(isRead);
  });
});

test("what a template takes in is found, whatever stands around it", () => {
  const source = [
    "// sql`select of a comment`",
    'const text = "sql`select of a text`";',
    "const a = sql<{ n: number }[]>`select §{list.map((each) => `§{each}`)} from t §{b ? sql`where §{c}` : sql``}`;",
    "await client.unsafe(`drop database §{quoted(name)}`);",
    "const KNOWN = `select §{A} and more`; const said = `select`;",
  ].map((line) => line.replaceAll("§", "$"));
  expect(templatesOf("a.ts", source.join("\n"))).toEqual([
    { place: "a.ts:3", texts: ["where ", ""] },
    { place: "a.ts:3", texts: ["select ", " from t ", ""] },
    { place: "a.ts:4", texts: ["drop database ", ""] },
    { place: "a.ts:5", texts: ["select ", " and more"] },
  ]);
});

/** Clauses that not every engine has, by the signs of them in a tree. */
const CLAUSES: Record<string, (node: Record<string, unknown>) => boolean> = {
  "on conflict": ({ onConflictClause }) => onConflictClause !== undefined,
  returning: ({ returningList }) => returningList !== undefined,
  "with recursive": ({ recursive }) => recursive === true,
  "as materialized": ({ ctematerialized }) => ctematerialized === "CTEMaterializeAlways",
  "distinct on": ({ distinctClause }) => Array.isArray(distinctClause) && Object.keys(distinctClause[0]).length > 0,
  lateral: ({ lateral }) => lateral === true,
  "full join": ({ jointype }) => jointype === "JOIN_FULL",
  filter: ({ agg_filter }) => agg_filter !== undefined,
  over: ({ over }) => over !== undefined,
  "for update": ({ strength }) => strength === "LCS_FORUPDATE",
  "skip locked": ({ waitPolicy }) => waitPolicy === "LockWaitSkip",
  'collate "C"': ({ CollateClause }) => CollateClause !== undefined,
  "lock table": ({ LockStmt }) => LockStmt !== undefined,
  copy: ({ CopyStmt }) => CopyStmt !== undefined,
  truncate: ({ TruncateStmt }) => TruncateStmt !== undefined,
  do: ({ DoStmt }) => DoStmt !== undefined,
  "create function": ({ CreateFunctionStmt }) => CreateFunctionStmt !== undefined,
};

test("the dialect of docs/design/operations.md is what statements and migrations use", () => {
  const trees = [...written, ...migrated].map(({ tree }) => tree);
  const used = { clauses: new Set<string>(), functions: new Set<string>(), types: new Set<string>() };
  // What fills a place in a template, and what migrations make.
  const own = new Set(["x"]);
  for (const node of trees.flatMap((tree) => [...nodesOf(tree)])) {
    for (const [clause, isThere] of Object.entries(CLAUSES)) if (isThere(node)) used.clauses.add(clause);
    if (node.funcname) used.functions.add(nameOf(node.funcname));
    if (node.names && "typemod" in node && !node.pct_type) used.types.add(nameOf(node.names));
    if (isNode(node.CreateFunctionStmt)) own.add(nameOf(node.CreateFunctionStmt.funcname));
  }
  // With a dot it is a column, and a filling behind it that reads like a literal of that type.
  const sorted = (names: Set<string>) => [...names].filter((name) => !own.has(name) && !name.includes(".")).sort();
  const stated = statedDialect();
  expect(stated).toEqual({
    clauses: sorted(used.clauses),
    functions: sorted(used.functions),
    types: sorted(used.types),
  });
});

type Node = Record<string, unknown>;

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

/** All objects of a parse tree. */
function* nodesOf(value: unknown): Generator<Node> {
  if (!isNode(value)) return;
  if (!Array.isArray(value)) yield value;
  for (const each of Object.values(value)) yield* nodesOf(each);
}

/** A name as a tree has it, without the schema of PostgreSQL's own. */
function nameOf(parts: unknown): string {
  const words = [...nodesOf(parts)].flatMap(({ sval }) => (typeof sval === "string" ? [sval] : []));
  return words.join(".").replace(/^pg_catalog\./, "");
}

/** The rows of the document's table. */
function statedDialect(): Record<string, string[]> {
  const document = readFileSync("docs/design/operations.md", "utf8");
  const section = /### The dialect\n(.*?)\n##/s.exec(document)?.[1] ?? "";
  const rows = [...section.matchAll(/^\| (clauses|functions|types) \| (.*) \|$/gm)];
  return Object.fromEntries(
    rows.map(([, kind = "", cell = ""]) => [
      kind,
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name).sort(),
    ]),
  );
}
