import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
} from "yaml";
import { isKeptByDouble, NOT_KEPT } from "../../domain/json/exact-json.ts";
import type { Finding, Path } from "../config-error.ts";
import type { SchemaGuide } from "../schema/schema-guide.ts";
import type { Span, Visibility } from "./code-frame.ts";

/** A node with the key or list position that leads to it. */
interface Entry {
  path: Path;
  key: Scalar | undefined;
  node: Node | null;
  /** The surrounding nodes, the document's root first. */
  above: readonly Node[];
}

const MAX_DEPTH = 50;
const MAX_ALIASES = 100;

/** All nodes below a node in the order of the text. Aliases are visited, not followed. */
function* entries(node: Node | null, path: Path = [], above: readonly Node[] = [], key?: Scalar): Generator<Entry> {
  yield { path, key, node, above };
  if (node === null || above.length > MAX_DEPTH) return;
  const around = [...above, node];
  if (isSeq<Node | null>(node)) {
    for (const [index, item] of node.items.entries()) yield* entries(item, [...path, index], around);
  }
  if (isMap<Node, Node | null>(node)) {
    for (const pair of node.items) {
      const name = isScalar(pair.key) ? pair.key : undefined;
      yield* entries(pair.value, [...path, name ? String(name.value) : "?"], around, name);
    }
  }
}

/** Refuses YAML that a configuration must not use: repeated keys, keys that are not text, tags, endless aliases. */
export function structureFindings(document: Document.Parsed): Finding[] {
  const findings: Finding[] = [];
  let aliases = 0;
  if (document.directives.yaml.explicit && document.directives.yaml.version !== "1.2")
    findings.push({ path: [], message: "must be YAML 1.2: remove the %YAML line", code: "YAML_SYNTAX" });
  for (const { path, node, above } of entries(document.contents)) {
    if (above.length > MAX_DEPTH) return [{ path, message: "the file is nested too deeply", code: "YAML_SYNTAX" }];
    if (isAlias(node)) {
      aliases += 1;
      if (aliases > MAX_ALIASES)
        return [{ path, message: `the file uses more than ${MAX_ALIASES} aliases`, code: "YAML_SYNTAX" }];
      findings.push(...aliasFindings(document, node, path, above));
    } else if (node?.tag !== undefined)
      findings.push({ path, message: "YAML tags (!...) have no meaning here", code: "YAML_SYNTAX" });
    if (isScalar(node) && isLost(node)) findings.push({ path, message: NOT_KEPT });
    if (isMap<Node, Node | null>(node)) findings.push(...keyFindings(node, path));
  }
  return findings;
}

/** Whether a number would change: it may be hexadecimal or octal, and `.inf` and `.nan` have no digits. */
function isLost({ value, source = "" }: Scalar): boolean {
  if (typeof value !== "number" || !/\d/.test(source)) return false;
  return !isKeptByDouble(/^0[xo]/.test(source) ? String(BigInt(source)) : source);
}

function aliasFindings(document: Document.Parsed, alias: Alias, path: Path, above: readonly Node[]): Finding[] {
  const target = alias.resolve(document);
  if (!target) return [{ path, message: "there is no anchor with this name above", code: "YAML_SYNTAX" }];
  return above.includes(target)
    ? [{ path, message: "an alias must not be inside its own anchor", code: "YAML_SYNTAX" }]
    : [];
}

function keyFindings({ items }: YAMLMap<Node, Node | null>, parent: Path): Finding[] {
  const seen = new Set<string>();
  return items.flatMap(({ key }): Finding[] => {
    if (!isScalar(key) || key.value === null)
      return [{ path: parent, message: "keys must be plain text", code: "YAML_SYNTAX" }];
    const name = String(key.value);
    if (seen.has(name))
      return [
        { path: [...parent, name], message: "is repeated in the same mapping", atKey: true, code: "DUPLICATE_KEY" },
      ];
    seen.add(name);
    return [];
  });
}

/** The key and value at a path, or those of the nearest ancestor if the document does not have it. */
export function findNode(document: Document.Parsed, path: Path): { key?: Node; value: Node | null; missing: boolean } {
  let found: { key?: Node; value: Node | null } = { value: document.contents };
  for (const step of path) {
    const at = isAlias(found.value) ? found.value.resolve(document) : found.value;
    if (isSeq<Node | null>(at) && typeof step === "number" && step in at.items) {
      found = { value: at.items[step] ?? null };
    } else {
      // If a key is repeated, the last pair, whose value counts and which is to be deleted.
      const pair = isMap<ParsedNode, Node | null>(at)
        ? at.items.findLast(({ key }) => isScalar(key) && String(key.value) === step)
        : undefined;
      if (!pair) return { ...found, missing: true };
      found = { key: pair.key, value: pair.value };
    }
  }
  return { ...found, missing: false };
}

/** What a frame may show of valid YAML: the keys and values that the schema knows to be public. */
export function visibleSpans(document: Document.Parsed, text: string, guide: SchemaGuide): Visibility {
  const shown: Span[] = [];
  const hidden: Span[] = [];
  for (const { path, key, node } of entries(document.contents)) {
    const name = path.at(-1);
    if (key && typeof name === "string") add(key, guide.mayShowKey(path.slice(0, -1), name));
    if (isScalar(node)) add(node, guide.mayShowValue(path, node.value));
  }
  return { shown, hidden };

  function add(scalar: Node, isPublic: boolean): void {
    const [start, end] = scalar.range ?? [0, 0];
    // A text over several lines probably lacks its closing quote, and so contains other values.
    const isOneLine = !text.slice(start, end).trimEnd().includes("\n");
    (isPublic && isOneLine ? shown : hidden).push([start, end]);
  }
}

/** What a frame may show of invalid YAML: the words that are property names of the schema. */
export function visibleWords(text: string, guide: SchemaGuide): Visibility {
  const names = guide.vocabulary();
  const shown = [...text.matchAll(/[A-Za-z_]\w*/g)]
    .filter(([word]) => names.has(word))
    .map((match): Span => [match.index, match.index + match[0].length]);
  return { shown, hidden: [] };
}
