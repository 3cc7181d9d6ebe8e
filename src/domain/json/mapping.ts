/** Whether a value is what JSON calls an object and YAML a mapping: neither a list nor null. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
