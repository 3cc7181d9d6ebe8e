import { hasSqlDetails, type ParseResult, parseSync } from "libpg-query";

/** What a source file says to PostgreSQL: a statement or a piece of one, with what it leaves open. */
export interface Template {
  place: string;
  /** What is said between the expressions that it takes in; one more than there are expressions. */
  texts: string[];
}

/** Statements begin so; anything else that is tagged `sql` or given to `unsafe` is a piece of one. */
const STATEMENT =
  /^\s*(?:select|insert into|update|delete from|with\s+\w|begin|commit|rollback|create|drop|alter|truncate|grant|revoke|analyze|copy|lock|set(?=\s+(?:local\s|session\s|\w+\s*=|\w+\s+to\s))|explain)\b/;

/** Every template of a TypeScript source that is tagged `sql`, given to `unsafe`, or reads like a statement; a template inside another one too. */
export function templatesOf(place: string, source: string): Template[] {
  const found: Template[] = [];
  const read = (start: number): number => {
    const { texts, end } = textsOf(source, start, read);
    const before = source.slice(Math.max(0, start - 120), start);
    const isTagged = /\bsql(?:<[^`;()]*>)?$|\bunsafe\(\s*$/.test(before);
    const isStatement = STATEMENT.test(texts[0] ?? "") && (texts.length > 1 || / /.test(texts[0]?.trim() ?? ""));
    const isEmpty = texts.join("").trim() === "";
    if (!isEmpty && (isTagged || isStatement))
      found.push({ place: `${place}:${source.slice(0, start).split("\n").length}`, texts });
    return end;
  };
  skipTo(source, 0, undefined, read);
  return found;
}

/** Goes through code up to the brace that closes it, or to the end. @returns the place behind it */
function skipTo(source: string, start: number, closing: "}" | undefined, read: (backtick: number) => number): number {
  // Comments and texts first: what looks like a template in them is none.
  const token =
    /\/\*[\s\S]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\.)*"|\/(?![*/ ])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*|[`{}]/g;
  token.lastIndex = start;
  for (let depth = 0, match = token.exec(source); match !== null; match = token.exec(source)) {
    if (match[0] === "`") token.lastIndex = read(match.index);
    else if (match[0] === "{") depth += 1;
    else if (match[0] === "}") {
      if (closing !== undefined && depth === 0) return token.lastIndex;
      depth -= 1;
    }
  }
  return source.length;
}

function textsOf(source: string, start: number, read: (backtick: number) => number): { texts: string[]; end: number } {
  const texts = [""];
  let at = start + 1;
  while (at < source.length && source[at] !== "`") {
    if (source.startsWith("${", at)) {
      texts.push("");
      at = skipTo(source, at + 2, "}", read);
    } else {
      if (source[at] === "\\") at += 1;
      texts.push(`${texts.pop()}${source[at]}`);
      at += 1;
    }
  }
  return { texts, end: at + 1 };
}

/** What may stand where a template takes something in, the likeliest first. */
const FILLINGS = [
  ...["$1", "x", "", "x = 1", "x, y", "1", "(1)", "x()", ", x", "and x", "where x", "select 1", "'x'"],
  ...["x as (select 1)", ", x as (select 1)", "with x as (select 1)", "copy x"],
];
/** A statement stands by itself, unless it only begins with the tables of its `with`, or leaves open where a copy goes. */
const STATEMENT_SURROUNDINGS = [
  ["", ""],
  ["", " select 1"],
  ["", " to stdout"],
] as const;
/** Where a piece may belong: an expression, a condition, a relation, a clause. */
const SURROUNDINGS = [
  ["select ", ""],
  ["select 1 from t where ", ""],
  ["select 1 from ", ""],
  ["select 1 from t ", ""],
  ["select 1 from t where true ", ""],
  ["select 1", ""],
  ["with ", " select 1"],
  ["with recursive ", " select 1"],
  ["with a as (select 1)", " select 1"],
  ["insert into t values (1) ", ""],
  ["update t set ", ""],
  ["select 1 order by ", ""],
] as const;

/** How a template is PostgreSQL 15's SQL, with something that fits in each place that it leaves open; undefined when it is not. */
export function parseTemplate({ texts }: Template): ParseResult | undefined {
  const [first = ""] = texts;
  const surroundings = STATEMENT.test(first) ? STATEMENT_SURROUNDINGS : [...STATEMENT_SURROUNDINGS, ...SURROUNDINGS];
  for (const [before, behind] of surroundings) {
    const result = fill(
      [before + first, ...texts.slice(1, -1), ...(texts.length > 1 ? [texts.at(-1) + behind] : [])],
      texts.length > 1 ? "" : behind,
    );
    if (result !== undefined) return result;
  }
  return undefined;
}

/**
 * The parser says where it stops, and the last place filled before it gets its next filling. A place that is passed keeps its own,
 * so the attempts are at most as many as all fillings of all places.
 */
function fill(texts: readonly string[], behind: string): ParseResult | undefined {
  const chosen = texts.slice(1).map(() => 0);
  for (;;) {
    let text = texts[0] ?? "";
    const ends: number[] = [];
    for (const [index, choice] of chosen.entries()) {
      ends.push(text.length);
      text += `${FILLINGS[choice]}${texts[index + 1]}`;
    }
    const result = parse(text + behind);
    if (typeof result !== "number") return result;
    const last = ends.findLastIndex((begin) => begin <= result);
    if (last < 0) return undefined;
    const next = (chosen[last] ?? 0) + 1;
    if (next === FILLINGS.length) return undefined;
    chosen[last] = next;
  }
}

/** The tree of a text, or the place at which the parser of PostgreSQL 15 stops. */
export function parse(text: string): ParseResult | number {
  if (text.trim() === "") return 0;
  try {
    return parseSync(text);
  } catch (error) {
    if (error instanceof Error && hasSqlDetails(error)) return error.sqlDetails.cursorPosition;
    throw error;
  }
}
