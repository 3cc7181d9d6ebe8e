/** The parts of a JSON Schema (draft-07, as `z.toJSONSchema` writes it) that pmctl reads. */
export interface JsonSchema {
  $ref?: string;
  definitions?: Record<string, JsonSchema>;
  type?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema | JsonSchema[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  const?: unknown;
  enum?: unknown[];
  pattern?: string;
  required?: string[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  default?: unknown;
  examples?: unknown[];
  description?: string;
  writeOnly?: boolean;
}
