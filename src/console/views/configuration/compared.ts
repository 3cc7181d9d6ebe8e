import type { WireResult } from "../../../contract/operations.ts";
import { isSame, type Json } from "../../../domain/audit/audit-link.ts";
import { leavesOf } from "../../../domain/audit/document-changes.ts";
import { formatSpan } from "../../../domain/time/units.ts";

type Config = WireResult<"getConfig">;

/** A field of the tenant's configuration, as the last apply stated it and as it is. */
export interface ComparedField {
  field: string;
  /** Undefined for a field that the file does not state, which has its usual value. */
  file: Json | undefined;
  live: Json;
  /** Whether someone changed it since, or an override holds. */
  differs: boolean;
  /** The newest change of the field that no apply made. */
  changed: (Pick<Config["changes"][number], "actor" | "seq" | "ts"> & { reason: string }) | undefined;
  /** When the live value ends by itself. */
  until: string | undefined;
}

/** Sections whose contents other views show; kept live values are not the file's. */
const LEFT_OUT = /^(declared|keyring|keys|adopted)(\.|$)/;

/** Every field: first those that differ, then by name. */
export function comparedFields({ policy, overrides, changes, document, ...config }: Config): ComparedField[] {
  const file = leavesOf((document ?? {}) as Json, "");
  const inForce = new Map(overrides.map((each) => [`policy.${each.field}`, each]));
  const live = new Map<string, Json>([
    ...file,
    ...leavesOf(policy as unknown as Json, "policy"),
    ["kyc.required", config.kycRequired],
    ["markets.liquidityUsd", config.liquidityUsd],
    ["treasury.capitalUsd", config.capitalUsd],
  ]);
  return [...live]
    .filter(([field]) => !LEFT_OUT.test(field))
    .map(([field, permanent]) => {
      const override = inForce.get(field);
      const value = override?.value ?? permanent;
      const stated = file.get(field);
      const differs = override !== undefined || (stated !== undefined && !isSame(stated, value));
      const entry = changeOf(changes, field.replace("policy.", ""), override !== undefined);
      const changed = entry && { ...entry, reason: String(entry.payload.reason ?? "") };
      return {
        field,
        file: written(field, stated),
        live: written(field, value),
        differs,
        changed,
        until: override?.until,
      };
    })
    .sort((one, other) => Number(other.differs) - Number(one.differs) || (one.field < other.field ? -1 : 1));
}

const SPAN = /\.(idle|absolute|per|timeout|maxAge|commandTimeout)$/;

/** A time span as the file writes it. */
const written = <Value extends Json | undefined>(field: string, value: Value) =>
  typeof value === "number" && SPAN.test(field) ? formatSpan(value) : value;

/** The newest entry that changed a field of the policy. @param isOverridden whether one that set an override counts */
export function changeOf(changes: Config["changes"], field: string, isOverridden = false) {
  return changes.find(
    ({ payload }) => (isOverridden || payload.until === undefined) && Object.hasOwn(changesIn(payload), field),
  );
}

function changesIn({ changes }: { changes?: unknown }): object {
  return typeof changes === "object" && changes !== null ? changes : {};
}
