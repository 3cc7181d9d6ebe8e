/** The embedded database could not do what was asked. The message is for the operator: what happened, where the log is, what to do. */
export class ClusterError extends Error {
  override name = "ClusterError";
}

/** The code of a system error (`ENOENT`, `EACCES`, ...), or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Resolves to the fallback when a file is not there; every other failure passes through. */
export async function unlessMissing<T, F>(work: Promise<T>, fallback: F): Promise<T | F> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return fallback;
    throw error;
  }
}
