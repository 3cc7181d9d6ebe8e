import { readFileSync } from "node:fs";
import { AUDIT_TYPES } from "../../src/domain/audit/sentence.ts";
import { MARKET_KINDS } from "../../src/domain/market/market-makers.ts";
import { SIDES } from "../../src/domain/market/pool.ts";
import { KYC_STATE_OF, KYC_STATES } from "../../src/domain/trader.ts";
import { cell, code, filledTable, NOTE } from "./markdown.ts";
import { type Member, membersOf, typesOf } from "./type-text.ts";

const sourceOf = (file: string) => readFileSync(new URL(`../../src/domain/${file}`, import.meta.url), "utf8");
const SOURCE =
  sourceOf("audit/audit-payloads.ts") + sourceOf("audit/audit-shapes.ts") + sourceOf("audit/market-shapes.ts");

/** The values that a field of a named type may have. */
const VALUES: Readonly<Record<string, string>> = {
  Side: SIDES.join(" | "),
  MarketKind: MARKET_KINDS.join(" | "),
  KycStatus: Object.keys(KYC_STATE_OF).join(" | "),
  TraderState: [...KYC_STATES, "restricted"].join(" | "),
  HoldReason: quoted(typesOf(sourceOf("market/hold.ts")).get("HoldReason")),
  KeyType: quoted(typesOf(sourceOf("access/scopes.ts")).get("KeyType")),
};

function quoted(union = ""): string {
  return [...union.matchAll(/"([^"]+)"/g)].map(([, value]) => value).join(" | ");
}

const ABOUT = `The types of entries in the audit log. \`pmctl explain audit.TYPE\` prints one. ${NOTE}

An entry is \`seq\`, \`type\`, \`actor\`, \`payload\`, \`ts\`, \`keyId\` and \`hash\`; the [auditor's guide](../guides/auditor.md) checks them. Amounts are decimal texts of dollars, instants are ISO 8601. A payload may also have \`reason\`, which the operator wrote, and \`decidedAt\`, where the database's clock had stepped back.

| actor | who it is |
| --- | --- |
| \`cli:USER\` | an operator at the database: the user of the operating system |
| \`admin:KEY\` | an operator through a server: the name of the admin key |
| \`user:ID\` | a user |
| \`provider:NAME\` | an identity or payment provider |
| \`oracle\` | the oracle, and what ends by itself: a market's trading, an override |`;

/** @throws Error for a type without a comment that says what it means and who writes it, or one that the source does not state */
export function auditPage(): string {
  const types = typesOf(SOURCE);
  const stated = new Map(membersOf(types.get("AuditPayloads") ?? "").map((member) => [member.name, member]));
  const meanings = new Map<string, string>();
  const sections = AUDIT_TYPES.map((type) => {
    const { comment, text } = stated.get(type) ?? { comment: "", text: "" };
    if (!/\bBy (an?|the) /.test(comment)) throw new Error(`${type}: its comment must say what it means, and "By …"`);
    return `## ${type}\n\n${cell(comment)}\n\n${fieldTable(described(type, fieldsOf(text, types), meanings))}`;
  });
  const shapes = [...types]
    .filter(([name, text]) => name !== "AuditPayloads" && AUDIT_SHAPES.test(name) && text.startsWith("{"))
    .map(
      ([name, text]) =>
        `## ${name}\n\nA shape of fields above.\n\n${fieldTable(described(name, membersOf(text), meanings))}`,
    );
  return `# Audit types\n\n${ABOUT}\n\n${[...sections, ...shapes].join("\n\n")}\n`;
}

/** Shapes that fields name as their type. */
const AUDIT_SHAPES = /^(PolicyChanges|StatedTenant|StatedKeys)$/;

/** The fields of an intersection of mappings and of names of mappings. */
function fieldsOf(text: string, types: ReadonlyMap<string, string>): Member[] {
  return text
    .split(/ & (?![^{]*\})/)
    .flatMap((part) => (part.startsWith("{") ? membersOf(part) : fieldsOf(types.get(part) ?? missing(part), types)));
}

function missing(name: string): never {
  throw new Error(`There is no type ${name} beside AuditPayloads`);
}

/**
 * The fields, each with what it is: without a comment of its own, what the field of its name above it is.
 * @param meanings of the fields above, by name
 * @throws Error for a field that no comment describes
 */
function described(of: string, fields: readonly Member[], meanings: Map<string, string>): Member[] {
  return fields.map((field) => {
    const comment = field.comment || meanings.get(field.name);
    if (comment === undefined) throw new Error(`${of}: say in a comment what ${field.name} is`);
    meanings.set(field.name, comment);
    return { ...field, comment };
  });
}

function fieldTable(fields: readonly Member[]): string {
  return filledTable(
    ["field", "type", "what it is"],
    fields.map(({ name, text, optional, comment }) => [
      code(name),
      code(VALUES[text] ?? text) + (optional ? ", optional" : ""),
      cell(comment),
    ]),
  );
}
