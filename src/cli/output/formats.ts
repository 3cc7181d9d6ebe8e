import { ANNOTATION_FORMATS } from "./annotations.ts";

export const FORMATS = ["table", "json", "yaml", "csv", "ndjson", "markdown", ...ANNOTATION_FORMATS] as const;
export type Format = (typeof FORMATS)[number];

export function isFormat(text: string): text is Format {
  return FORMATS.some((format) => format === text);
}
