import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import { type OwnTerms, rulesIn, type Terms, termsOfEnd } from "../../domain/policy/approvals.ts";
import { counted } from "../../domain/text.ts";
import type { Field } from "../output/table.ts";

/** The rules in force for a market's end. */
export interface EndTerms extends Terms {
  /** Hours after the settlement within which it can be corrected; 0 for none. */
  correctionHours: number;
}

/** The rules for a market's end; undefined where the key in use may not read them. */
export async function endTermsOf(
  { category, key }: Pick<WireResult<"getMarket">, "category" | "key">,
  api: Api,
): Promise<EndTerms | undefined> {
  try {
    const { document } = await api.getConfig({});
    const rules = rulesIn(document);
    const { correctionHours } = rules.resolution;
    return { ...termsOfEnd(rules, { category, own: ownTerms(document, key) }), correctionHours };
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** The terms that a market file states for itself. */
function ownTerms(document: WireResult<"getConfig">["document"], key: string | null): OwnTerms | null {
  const declared = document?.declared;
  const market = isMapping(declared) && key !== null && Object.hasOwn(declared, key) ? declared[key] : undefined;
  return isMapping(market) && isMapping(market.resolution) ? market.resolution : null;
}

const isProposed = ({ approvals, holdHours }: Terms): boolean => approvals > 1 || holdHours > 0;

const hours = (count: number): string => `${count} h`;

/** What must come before a proposal takes effect. */
function waitsFor({ approvals, holdHours }: Terms): string {
  return [
    ...(approvals > 1 ? [`${counted(approvals, "approval")}, yours among them`] : []),
    ...(holdHours > 0 ? [`a hold of ${hours(holdHours)}, in which users can object`] : []),
  ].join(", and for ");
}

/** Whether the end becomes a proposal; no field where it takes effect at once. */
export function proposedFields(terms: EndTerms | undefined): Field[] {
  return terms && isProposed(terms) ? [["becomes a proposal", `it waits for ${waitsFor(terms)}`]] : [];
}

/**
 * What typing the confirmation does, as the beginning of a sentence.
 * @param act such as `pay the positions`
 */
export function consequenceOf(act: string, terms: EndTerms | undefined): string {
  if (terms && isProposed(terms))
    return `This becomes a proposal, which waits for ${waitsFor(terms)}.\nTo propose to ${act}`;
  if (terms === undefined) return `To ${act}`;
  if (terms.correctionHours === 0) return `To ${act}, which cannot be undone`;
  return `To ${act}, which can be corrected for ${hours(terms.correctionHours)}`;
}
