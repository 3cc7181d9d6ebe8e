/** Errors of connections that were never established, so that nothing was sent on them. */
export const NEVER_SENT: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "CONNECT_TIMEOUT", "CONNECTION_ENDED"],
  // The server's own: too many connections, starting up or shutting down.
  ...["53300", "57P03"],
]);

/** Errors of connections that ended, at their start or later: by the server's shutdown or crash, or with the network. */
const ENDED: ReadonlySet<string> = new Set([
  ...["ECONNRESET", "EPIPE", "ETIMEDOUT", "CONNECTION_CLOSED", "CONNECTION_DESTROYED"],
  ...["57P01", "57P02"],
]);

/**
 * What became of a database's connection, where that is what an error tells. Loads no driver, so that the command line can
 * ask it about any error.
 */
export function connectionFailure(error: unknown): "never made" | "ended" | undefined {
  // Whatever its cause, such as a certificate that is not trusted.
  if (error instanceof Error && error.name === "NotConnected") return "never made";
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  // Files are missing too, under the same code.
  if (error.code === "ENOENT" && !("syscall" in error && error.syscall === "connect")) return undefined;
  if (NEVER_SENT.has(error.code)) return "never made";
  return ENDED.has(error.code) ? "ended" : undefined;
}
