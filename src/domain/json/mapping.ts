/** Whether a value is an object in JSON's sense (a mapping in YAML): neither a list nor null. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
