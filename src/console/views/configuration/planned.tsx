import { impactLines } from "../../../client/impact-lines.ts";
import type { Api, WireInput, WireResult } from "../../../contract/operations.ts";
import { isSame, type Json } from "../../../domain/audit/audit-link.ts";
import type { Direction } from "../../../domain/policy/fields.ts";
import { mergePolicy, type PolicyPatch } from "../../../domain/policy/policy.ts";
import { directionOf, policyValue, statedFields } from "../../../domain/policy/values.ts";
import { exactUsd } from "../../format.ts";
import { Table } from "../../parts/table.tsx";
import { Value } from "./value.tsx";

type Impact = WireResult<"previewPolicy">;

interface PlannedField {
  field: string;
  live: Json;
  desired: Json;
  direction: Direction;
}

/** What a change of the configuration would write, and what that means for trades. */
export interface Planned {
  items: readonly PlannedField[];
  /** Null if no rule for trades changes. */
  impact: Impact | null;
}

/** What a proposal to loosen the policy would change; undefined for another one. */
export async function readProposed(
  api: Api,
  { kind, request }: Pick<WireResult<"getProposal">, "kind" | "request">,
): Promise<Planned | undefined> {
  if (kind !== "loosen") return undefined;
  const { operation: _, policyTtlMs: __, ...stated } = request;
  return readPlanned(api, stated as PolicyPatch, await api.getConfig({}));
}

/** What a change of the policy would do. */
export async function readPlanned(
  api: Api,
  patch: PolicyPatch,
  { policy, kycRequired }: Pick<WireResult<"getConfig">, "policy" | "kycRequired">,
): Promise<Planned> {
  const after = mergePolicy(policy, patch);
  const items = statedFields(patch, after).flatMap(([field, desired]) => {
    const live = policyValue(policy, field) as Json;
    if (isSame(live, desired)) return [];
    return [{ field: `policy.${field}`, live, desired, direction: directionOf(field, live, desired) }];
  });
  const terms: WireInput<"previewPolicy"> = {
    before: { policy, kycRequired },
    after: { policy: after, kycRequired },
  };
  return { items, impact: await api.previewPolicy(terms) };
}

/** The fields whose change allows something that is stopped now. */
export const loosenedIn = (items: readonly Pick<PlannedField, "field" | "direction">[]): string[] =>
  items.flatMap(({ field, direction }) => (direction === "loosens" ? field : []));

/** Every field that would change, and the trades of the last days under the new rules. @param empty what to say without a field */
export function PlannedChanges({ of: { items, impact }, empty }: { of: Planned; empty: string }) {
  const lines = impact ? impactLines(impact, exactUsd) : [];
  const loosened = loosenedIn(items).join(", ");
  return (
    <>
      <Table
        name="Changes"
        rows={items}
        id={({ field }) => field}
        empty={empty}
        columns={[
          { title: "Field", cell: ({ field }) => field },
          { title: "Now", cell: ({ live }) => <Value of={live} /> },
          { title: "Then", cell: ({ desired }) => <Value of={desired} /> },
          {
            title: "Effect",
            cell: ({ direction }) =>
              direction !== "neutral" && (
                <strong class={direction === "loosens" ? "warn" : ""}>{direction.toUpperCase()}</strong>
              ),
          },
        ]}
      />
      {loosened && <p class="warn">This loosens a protection: {loosened}.</p>}
      {lines.map((line) => (
        <p key={line} dir="auto">
          {line}
        </p>
      ))}
      {impact && lines.length === 0 && <p>No trade of the last {impact.days} days would have been refused.</p>}
    </>
  );
}
