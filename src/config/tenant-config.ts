import type { Finding, Path, Position, Problem } from "./config-error.ts";
import type { TenantFile } from "./schema/schema.ts";

/** The file that a configuration came from, so that later errors can point into it. */
export interface ConfigSource {
  /** As problems name it. */
  readonly file: string;
  /** The tenant's folder, absolute: what paths in the file are relative to. */
  readonly directory: string;
  /** Folders beyond it that files of secrets and keys may lie below, absolute. */
  readonly roots: readonly string[];
  /** Of the file's text, in hex; of all the texts when it extends others. */
  readonly sha256: string;
  /** Where the value of a path stands, or its key, or its nearest ancestor that is stated; the file may be one that this extends. */
  positionOf(path: Path, atKey?: boolean): Position & { file: string };
  /** Whether the file states a value for a path, or it has its default. */
  states(path: Path): boolean;
  /** Findings of a later stage with their positions and frames. */
  problems(findings: readonly Finding[]): Problem[];
}

/**
 * A tenant's configuration: the file decoded, defaults filled in. Amounts (`...Usd`) are dollars as in the file, time
 * spans are milliseconds, percentages are ratios, timestamps are milliseconds since 1970. `policy` holds only what the
 * file states.
 */
export interface TenantConfig extends TenantFile {
  name: string;
  source: ConfigSource;
}
