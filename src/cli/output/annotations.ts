import type { Problem } from "../../config/config-error.ts";

/** A problem at a place of a file, in the form for programs that review code. */
export interface Annotation extends Omit<Problem, "frame" | "code"> {
  code: Problem["code"] | "CASE_FAILED";
}

export function annotationOf({ frame: _, ...annotation }: Problem): Annotation {
  return annotation;
}

/** Formats that print annotations of files in place of a result. */
export const ANNOTATION_FORMATS = ["github", "sarif"] as const;
export type AnnotationFormat = (typeof ANNOTATION_FORMATS)[number];

export function isAnnotationFormat(format: string | undefined): format is AnnotationFormat {
  return ANNOTATION_FORMATS.some((each) => each === format);
}

export function formatAnnotations(annotations: readonly Annotation[], format: AnnotationFormat): string {
  return format === "github" ? annotations.map(githubLine).join("\n") : JSON.stringify(sarifLog(annotations), null, 2);
}

/** @see https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
function githubLine({ severity, file, line, column, code, message }: Annotation): string {
  const properties = `file=${property(file)},line=${line},col=${column},title=${property(code)}`;
  return `::${severity} ${properties}::${escaped(message)}`;
}

/** A message over several lines, or one with a percent sign, would end or change the command. */
function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** @see https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
function sarifLog(annotations: readonly Annotation[]): object {
  const codes = [...new Set(annotations.map(({ code }) => code))];
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "pmctl", rules: codes.map((id) => ({ id })) } },
        columnKind: "utf16CodeUnits",
        results: annotations.map(sarifResult),
      },
    ],
  };
}

function sarifResult({ code, severity, message, path, fix, ...place }: Annotation): object {
  const artifactLocation = { uri: place.file.split("/").map(encodeURIComponent).join("/") };
  const { line: startLine, column: startColumn, endLine, endColumn } = place;
  const region = { startLine, startColumn, endLine, endColumn };
  const replacement = { deletedRegion: region, insertedContent: { text: fix } };
  return {
    ruleId: code,
    level: severity,
    message: { text: message },
    locations: [
      {
        physicalLocation: { artifactLocation, region },
        ...(path === "" ? {} : { logicalLocations: [{ fullyQualifiedName: path }] }),
      },
    ],
    ...(fix === null
      ? {}
      : {
          fixes: [
            {
              description: { text: `Write ${fix}` },
              artifactChanges: [{ artifactLocation, replacements: [replacement] }],
            },
          ],
        }),
  };
}
