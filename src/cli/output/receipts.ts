import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeFileSync } from "node:fs";
import type { Receipt } from "../../app/audit/anchors-in-file.ts";
import type { Seal } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import type { Output } from "./output.ts";

export interface ReceiptOptions {
  /** A file to which receipts are appended, one line of JSON each. */
  receipt?: string | undefined;
  /** The command in words, filled in by the host. */
  commandName?: string | undefined;
}

/** The receipts of one command. */
export interface ReceiptBook {
  /** Never throws, because the change is committed already. */
  onSealed(tenant: string, seal: Seal): void;
  /** @throws Fault INTERNAL when a receipt could not be written; its message contains the receipt */
  close(): void;
}

/**
 * Notes each change's place in the audit log, and appends it to the receipt file.
 * @param several whether the command changes several tenants: each line then begins with its tenant
 * @throws Fault USAGE when the file cannot be written, before anything is changed
 */
export function openReceipts(
  { receipt: file, commandName = "" }: ReceiptOptions,
  output: Output,
  several = false,
): ReceiptBook {
  const handle = file === undefined ? undefined : openForAppending(file);
  const unwritten: string[] = [];
  let cause: unknown;
  return {
    onSealed(tenant, { seq, hash, ts, keyId }) {
      const receipt: Receipt = { tenant, seq: Number(seq), hash, ts, keyId, command: commandName };
      const line = JSON.stringify(receipt);
      try {
        if (handle !== undefined) {
          writeFileSync(handle, `${line}\n`);
          // Devices and pipes cannot be synced.
          if (fstatSync(handle).isFile()) fsyncSync(handle);
        }
      } catch (error) {
        unwritten.push(line);
        cause = error;
      }
      if (!output.speaksJson)
        output.note(`${several ? `${tenant}: ` : ""}On record as audit entry ${seq}, hash ${hash}`);
    },
    close() {
      if (handle !== undefined) closeSync(handle);
      if (unwritten.length === 0) return;
      const what = `Done and on record, but ${file} could not take the receipt (${(cause as Error).message}). Keep it`;
      throw new Fault("INTERNAL", `${what}: ${unwritten.join(" ")}`, { cause });
    },
  };
}

function openForAppending(file: string): number {
  try {
    const handle = openSync(file, "a+", 0o600);
    const { size } = fstatSync(handle);
    const last = Buffer.alloc(1);
    // Starts a new line where the last one was cut short, such as by a full disk.
    if (size > 0 && readSync(handle, last, 0, 1, size - 1) === 1 && last.toString() !== "\n")
      writeFileSync(handle, "\n");
    return handle;
  } catch (cause) {
    throw new Fault("USAGE", `--receipt ${file} cannot be written: ${(cause as Error).message}`, { cause });
  }
}
