import type { AuditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { directoryAnchors } from "./anchor-file.ts";
import { AnchorScan } from "./anchor-scan.ts";
import { readVerifiedPoint } from "./verified-point.ts";

/** Where the known entries of a tenant's log are kept. */
export interface AnchorSources {
  tenant: string;
  /** The operator's directory. */
  directory: string;
  /** `audit.anchors` of the tenant file that are files, absolute. */
  files: readonly string[];
  /** The audit key and those before it. */
  keys: readonly AuditKey[];
}

/** The anchors of all sources. */
export interface KnownAnchors {
  anchors: KnownAnchor[];
  /** What was ignored, each with the reason: lines that none of our keys signed, files that cannot be read. */
  faults: string[];
}

/**
 * Scans of the sources' files. A caller that reads again keeps them, so that only appended lines are read then.
 */
export function scansOf({ tenant, directory, files, keys }: AnchorSources): AnchorScan[] {
  return [directoryAnchors(directory, tenant), ...files].map((file) => new AnchorScan(file, tenant, keys));
}

/** All known anchors: of the directory's own file, of the files that the tenant file names, and the verified point. */
export async function knownAnchors(
  sources: AnchorSources,
  scans: readonly AnchorScan[] = scansOf(sources),
): Promise<KnownAnchors> {
  const anchors: KnownAnchor[] = [];
  const faults: string[] = [];
  for (const scan of scans) {
    const found = await scan.read();
    anchors.push(...found.anchors);
    faults.push(...found.faults);
  }
  const verified = await readVerifiedPoint(sources.directory, sources.tenant);
  if (verified) {
    // A verification does not learn the entry's time; an anchor of the same entry has it.
    const twin = anchors.find(({ seq, hash }) => seq === verified.seq && hash === verified.hash);
    anchors.push({ ...verified, ts: verified.ts ?? twin?.ts, source: "verified before" });
  }
  return { anchors, faults };
}
