/** What every system allows at least. */
const USUAL_LIMIT = 256;

/**
 * How many files and sockets this process may have open at a time. Node.js raises the soft limit to the hard one when it
 * starts, on every system that has them, so that the limit read here is the raised one and its children inherit it.
 */
export function descriptorLimit(): number {
  // Names of other machines in the report would be asked for, one by one.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | "unlimited" } } };
  const soft = userLimits?.open_files?.soft ?? USUAL_LIMIT;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}
