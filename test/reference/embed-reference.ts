// Reads what publishers may pass, call and hear from the types that src/embed states them by, for the pages that document it.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FILES = ["host/types.ts", "protocol.ts"];
/** Lists of the page, each an interface, by what the page calls them. */
const LISTS = {
  script: "PredictionMarkets",
  options: "EmbedOptions",
  handle: "Embed",
  brand: "Brand",
  action: "Action",
};

export interface Member {
  name: string;
  type: string;
  isOptional: boolean;
  /** What its comment says. */
  text: string;
}

export interface EmbedReference {
  /** By the name of the list. */
  lists: Record<string, Member[]>;
  events: { name: string; text: string; fields: Member[] }[];
}

/**
 * Members by list, each with its name, its type as text and what its comment says; events with the members of their detail.
 * @param folder src/embed
 * @throws Error for a member without a comment
 */
export function embedReference(folder: string): EmbedReference {
  const text = withLiterals(FILES.map((file) => readFileSync(join(folder, file), "utf8")).join("\n"));
  const members = (name: string): Member[] => {
    const body = new RegExp(`^(?:export )?interface ${name} \\{\\n(.*?)^\\}`, "ms").exec(text)?.[1];
    if (body === undefined) throw new Error(`src/embed: there is no interface ${name}`);
    return membersOf(body);
  };
  const lists = Object.fromEntries(Object.entries(LISTS).map(([list, name]) => [list, members(name)]));
  const fieldsOf = (type: string): Member[] =>
    type.split(" & ").flatMap((part) => (part.startsWith("{") ? membersOf(part.slice(1, -1)) : members(part)));
  const events = members("EventDetails").map(({ name, type, text }) => ({ name, text, fields: fieldsOf(type) }));
  const bare = [...Object.values(lists).flat(), ...events].filter((each) => each.text === "");
  if (bare[0]) throw new Error(`src/embed: the pages for publishers show comments, and ${bare[0].name} has none`);
  return { lists, events };
}

/** Types that name the values of a list, such as `View`, become those values. */
function withLiterals(text: string): string {
  const lists = text.matchAll(/const (\w+) = \[([^\]]*)\] as const;\nexport type (\w+) = \(typeof \1\)/g);
  return [...lists].reduce(
    (all, [, , values = "", type]) =>
      all.replace(new RegExp(`: ${type}\\b`, "g"), `: ${values.replaceAll(", ", " | ")}`),
    text,
  );
}

/** @param body of an interface: comments and declarations, as the formatter of this repository writes them */
function membersOf(body: string): Member[] {
  const member =
    /\s*((?:\/\*\*(?:[^*]|\*(?!\/))*\*\/\s*)?)(?:readonly )?(\w+)(\??)(\([^)]*\))?: ((?:[^;{]|\{[^}]*\})+?)(?:;|$)/gy;
  return [...body.trimEnd().matchAll(member)].map(
    ([, comment = "", name = "", optional, parameters = "", type = ""]) => ({
      name: name + parameters,
      type: type
        .trim()
        .replace(/ \| undefined$/, "")
        .replace(/^\((.*)\)$/s, "$1")
        .replace(/\s+/g, " "),
      isOptional: optional === "?",
      text: textOf(comment),
    }),
  );
}

/** A comment's words, with what it says of the result. */
function textOf(comment: string): string {
  return comment
    .replace(/\/\*\*|\*\/|^\s*\*/gm, "")
    .replace("@returns", "Returns")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/([^.])$/, "$1.");
}
