import { isGenuine } from "../../engine/anchor.ts";
import type { AuditKey } from "../../engine/seal.ts";
import type { KnownAnchor } from "../../engine/set-back.ts";
import { directoryAnchors, readAnchorFile } from "./anchor-file.ts";
import { readVerifiedPoint } from "./verified-point.ts";

/** Where it is written down what a tenant's log has held. */
export interface AnchorSources {
  tenant: string;
  /** The operator's directory. */
  directory: string;
  /** `audit.anchors` of the tenant file that are files, absolute. */
  files: readonly string[];
  /** The audit key and those before it. */
  keys: readonly AuditKey[];
}

/** What the sources say. */
export interface KnownAnchors {
  anchors: KnownAnchor[];
  /** What counts for nothing, each in words: lines that no key of ours signed, files that cannot be read. */
  faults: string[];
}

/** Of each file the newest lines are compared with the log, and the one of the highest entry: each pins all before it. */
const LINES_COMPARED = 64;

/** Every anchor at hand: the directory's own file, the files of the tenant file, and the verified point. */
export async function knownAnchors(sources: AnchorSources): Promise<KnownAnchors> {
  const { tenant, directory, files } = sources;
  const anchors: KnownAnchor[] = [];
  const faults: string[] = [];
  for (const file of [directoryAnchors(directory, tenant), ...files]) {
    const found = await readGenuine(file, sources).catch((error: NodeJS.ErrnoException) => ({
      anchors: [],
      faults: [`${file} cannot be read (${error.code})`],
    }));
    anchors.push(...found.anchors);
    faults.push(...found.faults);
  }
  const verified = await readVerifiedPoint(directory, tenant);
  if (verified) {
    // A verification does not learn the entry's time; an anchor of the same entry has it.
    const twin = anchors.find(({ seq, hash }) => seq === verified.seq && hash === verified.hash);
    anchors.push({ ...verified, ts: verified.ts ?? twin?.ts, source: "verified before" });
  }
  return { anchors, faults };
}

async function readGenuine(file: string, { tenant, keys }: AnchorSources): Promise<KnownAnchors> {
  const faults: string[] = [];
  const anchors: KnownAnchor[] = [];
  for (const { number, anchor } of await readAnchorFile(file)) {
    const where = number === undefined ? file : `${file}:${number}`;
    // A line that a crash cut short counts for nothing, and tells nothing either.
    if (anchor?.tenant !== tenant) continue;
    if (!isGenuine(anchor, keys)) faults.push(`${where} has a bad signature`);
    else anchors.push({ seq: BigInt(anchor.seq), hash: anchor.hash, ts: anchor.ts, source: `anchored in ${file}` });
  }
  const compared = anchors.slice(-LINES_COMPARED);
  const highest = highestOf(anchors);
  return { anchors: highest && !compared.includes(highest) ? [highest, ...compared] : compared, faults };
}

/** The anchor of the highest entry. */
function highestOf(anchors: readonly KnownAnchor[]): KnownAnchor | undefined {
  return anchors.reduce<KnownAnchor | undefined>(
    (high, each) => (high && high.seq >= each.seq ? high : each),
    undefined,
  );
}
