import { readFileSync } from "node:fs";
import { embedReference, type Member } from "./embed-reference.ts";
import { cell, code, row, table } from "./markdown.ts";

const ROOT = new URL("../../", import.meta.url);

/** The publisher's guide with its lists as the types of `src/embed` state them: each stands between `<!-- name -->` and `<!-- end -->`. */
export function publisherPage(): string {
  const { events, lists: members } = embedReference(new URL("src/embed", ROOT).pathname);
  const lists: Record<string, string> = {
    ...Object.fromEntries(Object.entries(members).map(([name, list]) => [name, memberTable(list)])),
    events: table(
      ["Event", "Detail", "When"],
      events.map(({ name, fields, text }) => row(code(name), fields.map(fieldOf).join(", "), cell(text))),
    ),
  };
  const guide = readFileSync(new URL("docs/guides/publisher.md", ROOT), "utf8");
  return Object.entries(lists).reduce((text, [name, list]) => {
    const place = new RegExp(`(<!-- ${name} -->\n)(?:(?!<!-- )[\\s\\S])*(<!-- end -->)`);
    if (!place.test(text)) throw new Error(`docs/guides/publisher.md has no place for ${name}`);
    return text.replace(place, (_, begin: string, end: string) => `${begin}\n${list}\n\n${end}`);
  }, guide);
}

const fieldOf = ({ name, isOptional, type }: Member) => code(`${name}${isOptional ? "?" : ""}: ${type}`);

const memberTable = (members: readonly Member[]) =>
  table(
    ["Name", "Type", "Meaning"],
    members.map(({ name, type, text }) => row(code(name), code(type), cell(text))),
  );
