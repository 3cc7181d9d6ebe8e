import { type EndTerms, waitsFor } from "../../client/end-terms.ts";
import type { Field } from "../output/table.ts";

/** Whether the end becomes a proposal; no field where it takes effect at once. */
export function proposedFields(terms: EndTerms): Field[] {
  const waits = waitsFor(terms);
  return waits === "" ? [] : [["becomes a proposal", `it waits for ${waits}`]];
}

/**
 * What typing the confirmation does, as the beginning of a sentence.
 * @param act such as `pay the positions`
 */
export function consequenceOf(act: string, terms: EndTerms): string {
  const waits = waitsFor(terms);
  if (waits !== "") return `This becomes a proposal, which waits for ${waits}.\nTo propose to ${act}`;
  if (terms.correctionHours === 0) return `To ${act}, which cannot be undone`;
  return `To ${act}, which can be corrected for ${terms.correctionHours} h`;
}
