import { type FaultCode, faultFacts } from "../../../domain/fault.ts";
import type { JsonObject } from "../../openapi/openapi-parts.ts";
import { escapeHtml as text } from "../html.ts";
import { prose, sentence } from "./html.ts";
import { type Page, pathOf } from "./layout.ts";
import type { Reference } from "./reference.ts";

/** A longer query is cut here. */
const MAX_QUERY = 100;
const MAX_HITS = 40;

/** Something that a search finds. */
interface Entry {
  title: string;
  kind: string;
  href: string;
  summary: string;
  /** In lower case: its names count most, then what is said of it. */
  names: string;
  words: string;
}

/** Every operation, event, refusal and type, in this order. */
export function searchIndex({ groups, events, eventTypes }: Reference): Entry[] {
  const operations = groups.flatMap((group) => group.operations);
  const codes = [...new Set(operations.flatMap(({ refusals }) => refusals))];
  // A type that several pages show is found on the first of them.
  const types = new Map<string, Entry>();
  for (const { name: group, types: own } of groups)
    for (const [name, schema] of Object.entries(own))
      if (!types.has(name)) types.set(name, typeEntry(name, schema, pathOf(group)));
  for (const [name, schema] of Object.entries(eventTypes))
    if (!types.has(name)) types.set(name, typeEntry(name, schema, "/docs/webhooks"));
  return [
    ...operations.map(({ id, method, path, tag, summary, operation }) =>
      entryOf(id, `${method} ${path}`, `${pathOf(tag)}#${id}`, summary, `${path} ${fieldNames(operation)}`),
    ),
    ...events.map(({ type, summary }) => entryOf(type, "webhook", `/docs/webhooks#${type}`, summary, "")),
    ...codes.map(refusalEntry),
    ...types.values(),
  ];
}

/** The page of what was found, the best first. */
export function searchPage(index: readonly Entry[], asked: string): Page {
  const query = asked.trim().slice(0, MAX_QUERY);
  const wanted = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const hits = index
    .filter(({ names, words }) => wanted.every((word) => names.includes(word) || words.includes(word)))
    .map((entry, place) => ({ entry, place, score: scoreOf(entry, wanted) }))
    .toSorted((a, b) => b.score - a.score || a.place - b.place)
    .map(({ entry }) => entry);
  const shown = hits.slice(0, MAX_HITS);
  const counted = hits.length === 0 ? "Nothing was found" : `${hits.length} found`;
  const more = hits.length > shown.length ? `, the first ${shown.length} of which are shown` : "";
  return {
    path: "/docs",
    title: "Search",
    query,
    content: `<p role="status">${counted} for “${text(query)}”${more}. <a href="/docs">All operations</a></p><div class="hits">${shown
      .map(hit)
      .join("")}</div>`,
  };
}

function hit({ title, kind, href, summary }: Entry): string {
  return `<article><h2><a href="${text(href)}">${text(title)}</a><span class="mark">${text(kind)}</span></h2><p>${prose(summary)}</p></article>`;
}

/** A whole title before a part of one, then other names, then words; operations come before what is as good. */
function scoreOf({ title, names }: Entry, wanted: readonly string[]): number {
  const name = title.toLowerCase();
  const scores = wanted.map((word) => {
    if (name === word) return 3;
    return name.includes(word) ? 2 : names.includes(word) ? 1 : 0;
  });
  return scores.reduce<number>((sum, score) => sum + score, 0);
}

function entryOf(title: string, kind: string, href: string, summary: string, names: string): Entry {
  return { title, kind, href, summary, names: `${title} ${names}`.toLowerCase(), words: summary.toLowerCase() };
}

function refusalEntry(code: FaultCode): Entry {
  const { status, meaning } = faultFacts(code);
  return entryOf(code, `refusal, ${status}`, `/docs/refusals#${code}`, sentence(meaning), String(status));
}

function typeEntry(name: string, schema: JsonObject, page: string): Entry {
  const fields = fieldNames(schema);
  const summary = String(schema.description ?? (fields === "" ? "" : `Fields: ${fields.replaceAll(" ", ", ")}.`));
  return entryOf(name, "type", `${page}#type-${name}`, summary, fields);
}

/** The names of its parameters and of the fields that its body and answer state themselves. */
function fieldNames(part: JsonObject): string {
  const found = new Set<string>();
  const visit = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) return value.forEach(visit);
    const { properties, in: where, name } = value as JsonObject;
    if (typeof where === "string" && where !== "header") found.add(String(name));
    for (const field of Object.keys((properties ?? {}) as JsonObject)) found.add(field);
    for (const [key, inner] of Object.entries(value)) if (key !== "example" && key !== "examples") visit(inner);
  };
  visit(part);
  return [...found].join(" ");
}
