import type { AnchorTarget, AuditSection } from "./audit-schema.ts";

/** A target of anchors, and its place in the file. */
export interface StatedTarget {
  target: AnchorTarget;
  path: (string | number)[];
}

/** The targets in the file's order; a single target needs no list. */
export function statedTargets({ anchors }: Pick<AuditSection, "anchors">): StatedTarget[] {
  const path = ["audit", "anchors"];
  return Array.isArray(anchors)
    ? anchors.map((target, index) => ({ target, path: [...path, index] }))
    : [{ target: anchors, path }];
}

/** Whether a path leads to an anchor target: `{ file }` and `{ exec }` only look like references to secrets. */
export function isAnchorPlace(path: readonly (string | number)[]): boolean {
  return path[0] === "audit" && path[1] === "anchors" && !path.includes("secret") && !path.includes("previousSecrets");
}
