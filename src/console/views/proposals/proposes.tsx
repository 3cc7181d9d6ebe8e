import { waitsFor } from "../../../client/end-terms.ts";
import type { Api } from "../../../contract/operations.ts";
import { type ApprovalRules, rulesIn, type Terms } from "../../../domain/policy/approvals.ts";
import { Refused } from "../../refused.ts";

/** What a payment waits for by the rules in force; null where the key may not read them. */
export async function termsOfMoney(api: Api, kind: "withdraw" | "credit", amount: number): Promise<Terms | null> {
  try {
    const { document } = await api.getConfig({});
    const rule: ApprovalRules["credit"] = rulesIn(document).approvals[kind];
    return { holdHours: 0, approvals: rule && amount > rule.aboveUsd ? rule.approvals : 1 };
  } catch (error) {
    if (error instanceof Refused && error.code === "SCOPE_REQUIRED") return null;
    throw error;
  }
}

/** Says before the change that it only becomes a proposal. @param meanwhile what is so until then */
export function Proposes({ terms, meanwhile }: { terms: Terms | null; meanwhile: string }) {
  if (!terms)
    return <p class="soft">Where the tenant's rules want other actors, this becomes a proposal: {meanwhile}.</p>;
  const waits = waitsFor(terms);
  if (waits === "") return null;
  return (
    <p class="warn">
      This becomes a proposal, which waits for {waits}: {meanwhile}.
    </p>
  );
}
