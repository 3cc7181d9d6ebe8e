import type { WireResult } from "../contract/operations.ts";
import { counted } from "../domain/text.ts";

/** The rules in force for a market's end. */
export type EndTerms = WireResult<"previewSettlement">["terms"];

/** What must come before a proposal takes effect; empty for an end that takes effect at once. */
export function waitsFor({ approvals, holdHours }: Pick<EndTerms, "approvals" | "holdHours">): string {
  return [
    ...(approvals > 1 ? [`${counted(approvals, "approval")}, yours among them`] : []),
    ...(holdHours > 0 ? [`a hold of ${holdHours} h, in which users can object`] : []),
  ].join(", and for ");
}
