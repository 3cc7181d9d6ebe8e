/** The allowed form of an `Idempotency-Key`. */
export const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;
