/** A member of a mapping type, as its source states it. */
export interface Member {
  name: string;
  /** The type, without `undefined`. */
  text: string;
  optional: boolean;
  /** Its TSDoc, as one line; empty without one. */
  comment: string;
}

/** The texts of the types that a module declares, by name. */
export function typesOf(source: string): Map<string, string> {
  const declared = [...source.matchAll(/^(?:export )?type (\w+) =\s/gm)];
  return new Map(declared.map((found) => [found[1] ?? "", upToEnd(source, found.index + found[0].length)]));
}

/** The members of `{ … }`. */
export function membersOf(mapping: string): Member[] {
  const members: Member[] = [];
  let rest = mapping.trim().slice(1, -1).trim();
  while (rest !== "") {
    const found =
      /^(?:\/\*\*(?<comment>[\s\S]*?)\*\/\s*)?(?:"(?<quoted>[^"]+)"|(?<name>\w+)|\[(?<index>[^\]]+)\])(?<may>\??): /.exec(
        rest,
      );
    if (!found) throw new Error(`This is no member of a type: ${rest.slice(0, 60)}`);
    const { comment = "", quoted, name, index, may } = found.groups ?? {};
    const text = upToEnd(rest, found[0].length);
    rest = rest.slice(found[0].length + text.length).replace(/^;?\s*/, "");
    members.push({
      name: quoted ?? name ?? `[${index}]`,
      text: text
        .replaceAll(/\s+/g, " ")
        .replace(/ \| undefined$/, "")
        .trim(),
      optional: may === "?" || text.endsWith(" | undefined"),
      comment: comment.replaceAll(/\s*\n\s*\*?\s*/g, " ").trim(),
    });
  }
  return members;
}

/** The text from a place to the semicolon that ends it, or to the end. */
function upToEnd(source: string, from: number): string {
  let depth = 0;
  for (let at = from; at < source.length; at++) {
    const each = source[at] ?? "";
    if (source.startsWith("/*", at)) at = source.indexOf("*/", at);
    else if ("{([<".includes(each)) depth += 1;
    else if ("})]>".includes(each)) depth -= 1;
    else if (each === ";" && depth === 0) return source.slice(from, at);
  }
  return source.slice(from);
}
