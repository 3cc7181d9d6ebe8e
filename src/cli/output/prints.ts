import type { OperationId } from "../../contract/operations.ts";
import { wireFacts } from "../../contract/wire-facts.ts";
import type { Ends } from "../errors.ts";

/** The output of a command. Each command declares it where it is added, and `--fields ?` lists the names. */
export type Prints = Printed & {
  /**
   * Whether the command only reads a tenant, so that one line may ask several. An operation says so itself. Some
   * commands only read with certain options.
   */
  each?: boolean | ((options: object) => boolean);
  /** Whether the command takes `--idempotency-key`. An operation says so itself. */
  repeatable?: boolean;
};

type Printed =
  /** An operation's answer, or the list inside it. The operation declares its exit codes, and `ends` adds to them. */
  | { operation: OperationId; rows?: string; ends?: Ends }
  /** The content of a tenant file, and further names separated by spaces. */
  | { tenantFile: true; and?: string; ends: Ends }
  /** The command's own names, separated by spaces; `annotates` where it takes `-o github|sarif`. */
  | { names: string; annotates?: true; ends: Ends };

/** Whether a repeat of the command under the same `--idempotency-key` gets the first result. */
export function isRepeatable(prints: Prints | undefined): boolean {
  if (prints === undefined) return false;
  return prints.repeatable ?? ("operation" in prints && wireFacts[prints.operation].writes);
}

/** Whether a command only reads a tenant. */
export function isRead(prints: Prints | null | undefined, options: object): boolean {
  if (!prints) return false;
  if (typeof prints.each === "function") return prints.each(options);
  return prints.each ?? ("operation" in prints && !wireFacts[prints.operation].writes);
}
