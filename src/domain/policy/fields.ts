import { isListed } from "./covers.ts";
import { raisesCaps, type SuitabilityThresholds } from "./suitability.ts";

/** The effect of a change on the limits that protect traders and the house. */
export type Direction = "loosens" | "tightens" | "neutral";

/** The values of each kind of field. */
interface Values {
  integer: number;
  /** US dollars, at most six decimals, positive. */
  usd: number;
  flag: boolean;
  /** An address that pmctl calls; null for none. */
  address: string | null;
  /** ISO 3166 codes. */
  countries: string[];
  thresholds: SuitabilityThresholds;
}
type Kind = keyof Values;

interface Field<K extends Kind> {
  /** The kind, which determines schema, unit and format. */
  kind: K;
  default: Values[K];
  /** The effect of a change from one value to another. */
  direction: (from: Values[K], to: Values[K]) => Direction;
  /** One sentence for the API reference and for editors of the tenant file. */
  help: string;
  /** Whether past trades show the effect of a change, so that plans include an impact. */
  previewed: boolean;
  /** How `pmctl init` writes the field to a tenant file. */
  template?: {
    /** The value as YAML, unless it is the default on one line. */
    value?: string;
    comment?: string;
    /** Whether the minimal template also includes the field. */
    minimal?: true;
  };
  /** How an empty list is printed; `-` by default. */
  empty?: string;
}

type IntegerField = Field<"integer"> & { min: number; max: number };
export type FieldRow = IntegerField | { [K in Exclude<Kind, "integer">]: Field<K> }[Exclude<Kind, "integer">];

const neutral = (): Direction => "neutral";
const higherLoosens = (from: number, to: number): Direction => (to > from ? "loosens" : "tightens");

/**
 * The fields of a policy. To add a field of these kinds, add a row here and the rule that uses it. Types, the schemas
 * of the API and of the tenant file, plans, the command line and the templates follow. A stored policy without a field
 * has its default.
 */
export const FIELDS = {
  feeBps: {
    kind: "integer",
    min: 0,
    max: 1000,
    default: 100,
    direction: neutral,
    help: "Fee in basis points of the amount.",
    previewed: false,
    template: { comment: "100 is 1 %", minimal: true },
  },
  maxTradeUsd: {
    kind: "usd",
    default: 500,
    direction: higherLoosens,
    help: "Largest single trade in USD.",
    previewed: true,
    template: { minimal: true },
  },
  maxUserExposureUsd: {
    kind: "usd",
    default: 10_000,
    direction: higherLoosens,
    help: "Largest cost of a user's open positions in USD.",
    previewed: true,
    template: { minimal: true },
  },
  maxCreditUsd: {
    kind: "usd",
    default: 1000,
    direction: higherLoosens,
    help: "Largest single credit by an operator in USD.",
    previewed: false,
  },
  "jurisdictions.allowed": {
    kind: "countries",
    default: [],
    // An empty list admits every jurisdiction.
    direction: (from, to) =>
      from.length > 0 && (to.length === 0 || !to.every((code) => isListed(code, from))) ? "loosens" : "tightens",
    help: "Only users from these jurisdictions may trade; an empty list allows all.",
    previewed: true,
    template: { comment: "empty: everywhere" },
    empty: "everywhere",
  },
  "jurisdictions.blocked": {
    kind: "countries",
    default: [],
    direction: (from, to) => (from.every((code) => isListed(code, to)) ? "tightens" : "loosens"),
    help: "Users from these jurisdictions may not trade, even if allowed lists them.",
    previewed: true,
    template: {
      comment:
        "wins over allowed; quote the codes: some tools read NO as false. While any is listed, users of unknown jurisdiction are refused: the KYC event or their token must name it",
    },
  },
  kycReview: {
    kind: "flag",
    default: true,
    direction: (_, to) => (to ? "tightens" : "loosens"),
    help: "An identity check with a status that is neither passed nor failed stops the user's trading until a person decides.",
    previewed: false,
  },
  suitabilityRequired: {
    kind: "flag",
    default: false,
    direction: (_, to) => (to ? "tightens" : "loosens"),
    help: "Users may trade only after passing the suitability assessment.",
    previewed: true,
  },
  suitabilityThresholds: {
    kind: "thresholds",
    default: {
      blockBelow: 0,
      tiers: [
        { minScore: 0, capUsd: 500 },
        { minScore: 9, capUsd: 2500 },
        { minScore: 15, capUsd: null },
      ],
    },
    direction: (from, to) => (raisesCaps(from, to) ? "loosens" : "tightens"),
    help: "Score tiers and their exposure caps.",
    previewed: true,
    template: {
      value: `
    blockBelow: 0 # a score below it may not trade
    tiers: # exposure caps by score, the first at 0; null is no cap
      - { minScore: 0, capUsd: 500 }
      - { minScore: 9, capUsd: 2500 }
      - { minScore: 15, capUsd: null }`,
    },
  },
  resolution_url: {
    kind: "address",
    default: null,
    // A tenant's own oracle decides every market, so naming one loosens.
    direction: (_, to) => (to === null ? "tightens" : "loosens"),
    help: "Custom oracle that replaces the built-in one; null or empty for none.",
    previewed: false,
    template: { comment: "an https address that decides markets instead of the price feeds" },
  },
} satisfies Record<string, FieldRow>;

type Fields = typeof FIELDS;

/** A part of a policy that is planned, overridden and guarded separately. */
export type PolicyField = keyof Fields;
/** The fields in the order of plans and displays. */
export const POLICY_FIELDS = Object.keys(FIELDS) as [PolicyField, ...PolicyField[]];

export function rowOf(field: PolicyField): FieldRow {
  return FIELDS[field];
}

/** Kinds of fields with a single value; the others are structures or parts of one. */
type SimpleKind = "integer" | "usd" | "flag" | "address";
export type SimpleRow = Extract<FieldRow, { kind: SimpleKind }>;

export function isSimple(row: FieldRow): row is SimpleRow {
  return row.kind !== "countries" && row.kind !== "thresholds";
}

/** The values of the single-valued fields. */
export type SimpleValues = {
  [Name in PolicyField as Fields[Name]["kind"] extends SimpleKind ? Name : never]: Values[Fields[Name]["kind"]];
};

/** Single-valued fields that are limits: all except addresses whose change can loosen or tighten. */
export const LIMIT_FIELDS: readonly PolicyField[] = POLICY_FIELDS.filter((field) => {
  const row = rowOf(field);
  return isSimple(row) && row.kind !== "address" && row.direction !== neutral;
});
