import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { isSame, type Json } from "../../domain/audit/audit-link.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import type { Path } from "../config-error.ts";

/** A part of the text and its replacement. */
type Edit = readonly [start: number, end: number, replacement: string];

/**
 * Sets one value of a YAML text and leaves every other character unchanged: comments, order, quotes and blank lines. A
 * list or mapping is changed entry by entry if possible, so that its comments stay too.
 *
 * @param path the path of the value; missing mappings on the way are created
 */
export function setInYaml(text: string, path: Path, value: Json): string {
  const document = parseDocument(text, { version: "1.2" });
  const edited = carryOut(text, editsFor(text, document.contents, path, value));
  const aliases = aliasEdits(document);
  if (aliases.length === 0) return edited;
  // A value with an anchor is in several places, and only one of them must change.
  if (reads(edited, withValue(document.toJS() as Json, path, value))) return edited;
  return setInYaml(carryOut(text, aliases), path, value);
}

function reads(text: string, value: Json): boolean {
  try {
    return isSame(parseDocument(text, { version: "1.2" }).toJS() as Json, value);
  } catch (error) {
    // An alias whose anchor was removed.
    if (error instanceof ReferenceError) return false;
    throw error;
  }
}

function carryOut(text: string, edits: readonly Edit[]): string {
  return edits
    .toSorted(([a], [b]) => b - a)
    .reduce((edited, [start, end, replacement]) => edited.slice(0, start) + replacement + edited.slice(end), text);
}

/** Replaces each alias by its value. */
function aliasEdits(document: Document.Parsed): Edit[] {
  const edits: Edit[] = [];
  visit(document, {
    Alias: (_, alias) => {
      const [start = 0, end = 0] = alias.range ?? [];
      edits.push([start, end, flow(alias.toJS(document) as Json)]);
    },
  });
  return edits;
}

function withValue(whole: Json, [step, ...rest]: Path, value: Json): Json {
  if (step === undefined) return value;
  if (Array.isArray(whole)) return whole.map((each, index) => (index === step ? withValue(each, rest, value) : each));
  const map = isMapping(whole) ? whole : {};
  return { ...map, [step]: withValue(map[step] ?? null, rest, value) };
}

function editsFor(text: string, node: Node | null, path: Path, value: Json): Edit[] {
  const [step, ...rest] = path;
  if (step === undefined) return node ? valueEdits(text, node, value) : [];
  if (isSeq<Node>(node) && typeof step === "number") return editsFor(text, node.items[step] ?? null, rest, value);
  if (!isMap<Scalar, Node | null>(node)) return node ? [replacing(text, node, wrapped(path, value))] : [];
  const pair = node.items.find(({ key }) => String(key.value) === step);
  if (!pair) return [insertion(text, node, `${step}: ${flow(wrapped(rest, value))}`)];
  const end = pair.key.range?.[1] ?? 0;
  const isEmpty = !pair.value || (isScalar(pair.value) && pair.value.range?.[0] === pair.value.range?.[1]);
  // Inserted after the colon of a key without a value.
  if (isEmpty) return [[text.indexOf(":", end) + 1, text.indexOf(":", end) + 1, ` ${flow(wrapped(rest, value))}`]];
  return editsFor(text, pair.value, rest, value);
}

function wrapped(path: Path, value: Json): Json {
  return path.reduceRight<Json>((inner, step) => ({ [step]: inner }), value);
}

function valueEdits(text: string, node: Node, value: Json): Edit[] {
  if (isSame((node.toJSON() as Json | undefined) ?? null, value)) return [];
  if (isMap<Scalar, Node | null>(node) && isMapping(value)) {
    const names = node.items.map(({ key }) => String(key.value));
    // Removing a key would leave its line.
    if (names.every((name) => Object.hasOwn(value, name)))
      return Object.entries(value).flatMap(([name, each]) =>
        each === undefined ? [] : editsFor(text, node, [name], each),
      );
  }
  if (isSeq<Node>(node) && Array.isArray(value)) {
    if (node.items.length === value.length && !node.items.every(isScalar))
      return value.flatMap((each, index) => editsFor(text, node, [index], each));
    if (!node.flow && value.length > 0 && node.items.every((item) => isScalar(item)))
      return lineEdits(text, node, value);
  }
  return [replacing(text, node, value)];
}

function replacing(text: string, node: Node, value: Json): Edit {
  const [start = 0, end = 0] = node.range ?? [];
  const isBlock = (isMap(node) || isSeq(node)) && !node.flow;
  // A list may be indented as little as its key; the value that replaces it must be indented further.
  return [start, end, `${isBlock ? " " : ""}${flow(value)}${text[end - 1] === "\n" ? "\n" : ""}`];
}

/** A set with one entry per line: lines are removed and added; the others keep their place and comments. */
function lineEdits(text: string, node: YAMLSeq<Node>, value: readonly Json[]): Edit[] {
  const items = node.items as Scalar[];
  const kept = items.filter((item) => value.includes(item.value as Json));
  const removed = items
    .filter((item) => !kept.includes(item))
    .map((item): Edit => [lineStart(text, item.range?.[0] ?? 0), lineEnd(text, item.range?.[1] ?? 0), ""]);
  const last = items.at(-1)?.range?.[0] ?? 0;
  const indent = text.slice(lineStart(text, last), last);
  const added = value.filter((each) => !kept.some((item) => item.value === each));
  const at = lineEnd(text, items.at(-1)?.range?.[1] ?? 0);
  const lines = added.map((each) => `${indent}${flow(each)}\n`).join("");
  const missesBreak = at > 0 && text[at - 1] !== "\n";
  return lines === "" ? removed : [...removed, [at, at, missesBreak ? `\n${lines}` : lines]];
}

/** A new pair at the end of its mapping. */
function insertion(text: string, map: YAMLMap<Scalar, Node | null>, pair: string): Edit {
  const last = map.items.at(-1);
  if (map.flow) {
    const close = (map.range?.[1] ?? 1) - 1;
    const inner = text.slice(map.range?.[0] ?? 0, close);
    const padding = /\s*$/.exec(inner)?.[0] ?? "";
    const separator = last ? (/,\s*$/.test(inner) ? " " : ", ") : " ";
    return [close - padding.length, close, `${separator}${pair}${padding === "" && last ? "" : padding || " "}`];
  }
  const first = map.items[0]?.key.range?.[0] ?? 0;
  const indent = " ".repeat(first - lineStart(text, first));
  const at = lineEnd(text, endOf(last));
  return [at, at, `${at > 0 && text[at - 1] !== "\n" ? "\n" : ""}${indent}${pair}\n`];
}

function endOf(pair: Pair<Scalar, Node | null> | undefined): number {
  return pair?.value?.range?.[1] ?? pair?.key.range?.[1] ?? 0;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** The position after the line's break, even if `at` is already there, as after a block of lines. */
function lineEnd(text: string, at: number): number {
  if (text[at - 1] === "\n") return at;
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end + 1;
}

/** One line of YAML. Texts are always quoted, so that no reader takes `NO` for false. */
function flow(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (!isMapping(value)) return JSON.stringify(value);
  const pairs = Object.entries(value).flatMap(([name, each]) => (each === undefined ? [] : [`${name}: ${flow(each)}`]));
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}
