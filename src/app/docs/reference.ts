import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import type { FileKey } from "../../config/schema/schema-keys.ts";
import { Fault } from "../../domain/fault.ts";
import { nearest } from "../../domain/nearest.ts";
import { counted } from "../../domain/text.ts";

/** The pages are part of the package, three folders up from `src/app/docs` and from `dist/app/docs`. */
const PAGES = join(import.meta.dirname, "../../../docs/reference");

/** What has a page of names, by the word that begins their paths; `title` is what the heading of a name looks like. */
const FAMILIES: Readonly<Record<string, { page: string; type: string; title: RegExp }>> = {
  error: { page: "errors.md", type: "error code", title: /^[A-Z_]+$/ },
  audit: { page: "audit.md", type: "audit type", title: /^[\w.]+$/ },
  event: { page: "events.md", type: "webhook event", title: /^\w+\.[\w.]+$/ },
  metric: { page: "metrics.md", type: "metric", title: /^$/ },
};

export const FAMILY_NAMES: readonly string[] = Object.keys(FAMILIES);

/** The names of a family, in the form of keys: what a reader of its page sees is what the terminal shows. */
function entriesOf(family: string): FileKey[] {
  const { type = "", title = /^$/ } = FAMILIES[family] ?? {};
  const sections = textOf(family).split(/^#{2,3} /m);
  return sections.slice(1).flatMap((section) => {
    const [name = ""] = section.split("\n", 1);
    const tokens = new Marked().lexer(section.slice(name.length));
    const rows = tokens.flatMap((token) => (token.type === "table" ? rowsOf(token as Tokens.Table) : []));
    if (family === "metric") return rows.map(metricOf);
    if (!title.test(name)) return [];
    const keys = rows.map((row) => entry(bare(row.field), bare(row.type), row["what it is"]));
    const examples = codeOf(tokens, "json").map((text): unknown => JSON.parse(text));
    const said = tokens.flatMap((token) => (token.type === "paragraph" ? [plain(token.text)] : []));
    const description = [...said, ...codeOf(tokens, "sh").map((line) => `Next: ${line}`)].join("\n\n");
    return [{ ...entry(`${family}.${name}`, type, description), keys, examples }];
  });
}

/** A family as a whole, with the first sentence of its page and of each name. */
export function familyOf(family: string): FileKey {
  const about = plain(textOf(family).replace(/^# .+\n\n/, ""));
  const keys = entriesOf(family).map(({ path, type, description }) => entry(path, type, firstSentence(description)));
  return { ...entry(family, counted(keys.length, "name"), firstSentence(about)), keys };
}

/**
 * The entry of a path such as `error.KEY_INVALID`, of a family, or of a name without its family.
 * @param unknown what is thrown where it names what is meant
 * @throws Fault NOT_FOUND with the nearest name
 */
export function findEntry(asked: string, unknown?: Fault): FileKey {
  const [word = ""] = asked.split(".");
  const isWhole = FAMILY_NAMES.includes(word);
  if (asked === word && isWhole) return familyOf(word);
  const entries = (isWhole ? [word] : FAMILY_NAMES).flatMap(entriesOf);
  const nameOf = ({ path }: FileKey) => (isWhole ? path : path.slice(path.indexOf(".") + 1));
  const found = entries.filter((each) => nameOf(each).toLowerCase() === asked.toLowerCase());
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  if (!only && unknown?.detail.meant !== undefined) throw unknown;
  const near = nearest(asked, entries.map(nameOf));
  const meant = only ? found : entries.filter((each) => nameOf(each) === near).slice(0, 1);
  if (meant.length === 0 && unknown && asked !== word) throw unknown;
  const lists = isWhole ? `pmctl explain ${word} lists them` : "pmctl explain lists what there is";
  const hint = meant.length === 0 ? lists : `did you mean ${meant.map(({ path }) => path).join(" or ")}?`;
  throw new Fault("NOT_FOUND", `There is no name ${asked}; ${hint}`);
}

/** The paths of a family's names. */
export const namesIn = (family: string): string[] => entriesOf(family).map(({ path }) => path);

const textOf = (family: string): string => readFileSync(join(PAGES, FAMILIES[family]?.page ?? ""), "utf8");

const codeOf = (tokens: readonly Token[], language: string): string[] =>
  tokens.flatMap((token) => (token.type === "code" && token.lang === language ? [token.text] : []));

/** Each row by the titles of its columns. */
function rowsOf({ header, rows }: Tokens.Table): Record<string, string>[] {
  return rows.map((cells) => Object.fromEntries(cells.map(({ text }, at) => [header[at]?.text ?? "", plain(text)])));
}

function metricOf({ name, type = "", unit, labels, "what it is": about }: Record<string, string>): FileKey {
  const keys = bare(labels).split(", ").filter(Boolean);
  const metric = entry(`metric.${bare(name)}`, unit ? `${type}, ${unit}` : type, about);
  return { ...metric, keys: keys.map((label) => entry(label, "label")) };
}

function entry(path: string, type: string, description = ""): FileKey {
  return { path, type, description, default: undefined, examples: [], required: false, loosens: undefined, keys: [] };
}

const bare = (cell = ""): string => cell.replaceAll("`", "");

/** The text without its links, as a terminal shows it. */
const plain = (text: string): string => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("&lt;", "<");

const firstSentence = (text: string): string => /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
