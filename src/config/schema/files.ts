import type { Finding } from "../config-error.ts";
import { onDemand } from "../on-demand.ts";
import { keep, recall } from "../yaml/known-texts.ts";
import type { FileData, FileKind } from "./file-schemas.ts";
import { SchemaGuide } from "./schema-guide.ts";

type Decoded<Kind extends FileKind> =
  | { data: FileData[Kind]; findings?: undefined; isKnown: boolean }
  | { data?: undefined; findings: Finding[]; isKnown: false };

const fileSchemas = onDemand<typeof import("./file-schemas.ts")>(import.meta.url, "./file-schemas");

/** Decides what error messages may show and suggest for a kind of file. */
export function guideTo(kind: FileKind): SchemaGuide {
  return new SchemaGuide(() => fileSchemas().jsonSchemaOf(kind));
}

/**
 * The value of a file decoded by its schema, or its mistakes. A value that {@link keepDecoded} was given by an earlier
 * command is not decoded again.
 *
 * @param file.sha256 of all texts that form the value
 */
export function decodeFile<Kind extends FileKind>(
  kind: Kind,
  { value, sha256 }: { value: unknown; sha256: string },
): Decoded<Kind> {
  const known = recall(kind, sha256);
  const decoded = known ? { data: known.value } : fileSchemas().decodeAs(kind, value, guideTo(kind));
  return { ...decoded, isKnown: known !== undefined } as Decoded<Kind>;
}

/** Keeps the decoded value of a file without mistakes for later commands. */
export function keepDecoded<Kind extends FileKind>(kind: Kind, sha256: string, data: FileData[Kind]): void {
  keep(kind, sha256, data);
}
