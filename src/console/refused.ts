/** A refusal of the server, or `UNREACHABLE` without an answer. */
export class Refused extends Error {
  readonly code: string;
  readonly retryAfterSec: number;
  readonly requestId: string | null;

  constructor(code: string, message: string, more: { retryAfterSec?: number; requestId?: string | null } = {}) {
    super(message);
    this.code = code;
    this.retryAfterSec = more.retryAfterSec ?? 0;
    this.requestId = more.requestId ?? null;
  }
}

/** The refusal in an answer. */
export async function refusedBy(response: Response): Promise<Refused> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: unknown };
  const message = typeof error === "string" ? error : `The server answered with status ${response.status}`;
  return new Refused(response.headers.get("error-code") ?? "INTERNAL", message, {
    retryAfterSec: Number(response.headers.get("retry-after")) || 0,
    requestId: response.headers.get("request-id"),
  });
}

export function unreachable(): never {
  throw new Refused("UNREACHABLE", "The server cannot be reached");
}

/** After these, what was shown no longer holds: it is read again, and the person is asked again. */
export const OUTDATED: readonly string[] = ["EXPECTATION_NOT_MET", "PRECONDITION_FAILED", "REFUSED"];

/** What a person does after a refused change. */
export function nextStep(code: string): string | undefined {
  if (OUTDATED.includes(code)) return "The figures are read again: check them and confirm again.";
  // In another dialog the same change would be another one.
  return code === "UNREACHABLE" ? "The change may have been made. Confirm again here: it is made once." : undefined;
}
