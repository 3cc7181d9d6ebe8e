import { canonicalJson, type Json } from "../../../domain/audit/audit-link.ts";
import { Sentence } from "../../parts/time.tsx";

/** A value of the configuration, on one line. */
export function Value({ of }: { of: Json | undefined }) {
  if (of === undefined || of === null) return <span class="soft">not stated</span>;
  return (
    <bdi>
      <Sentence of={typeof of === "string" ? of : canonicalJson(of)} />
    </bdi>
  );
}
