/** The limit that every system allows at least. */
const USUAL_LIMIT = 256;

/**
 * How many files and sockets this process may have open at a time. Node.js raises the soft limit to the hard limit at
 * its start, so this reads the raised limit, which child processes inherit.
 */
export function descriptorLimit(): number {
  // Otherwise the report would resolve the names of remote machines one by one.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | "unlimited" } } };
  const soft = userLimits?.open_files?.soft ?? USUAL_LIMIT;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}
