import type { Command } from "commander";
import type { ConfigSession, ConfigSessionOptions } from "../app/tenant/config-session.ts";
import type { SessionOptions, TenantSession } from "../app/tenant/session.ts";
import type { Selector } from "../config/selection/selector.ts";
import type { ExitCode } from "./errors.ts";
import type { Interrupts } from "./input/interrupts.ts";
import type { Prompts } from "./input/prompts.ts";
import type { Output } from "./output/output.ts";
import type { Prints } from "./output/prints.ts";
import { openReceipts, type ReceiptBook, type ReceiptOptions } from "./output/receipts.ts";
import type { Format } from "./output/serialise.ts";

/** Options that every command takes. */
export interface Globals extends SessionOptions, ReceiptOptions {
  directory?: string;
  /** All tenants of the directory; with `--help`, show the global options too. */
  all?: boolean;
  /** Only tenants with these labels. */
  selector?: Selector;
  output?: Format;
  fields?: string[];
  yes?: boolean;
  /** False with `--no-input`. */
  input: boolean;
  /** Secret references may run programs. */
  allowExec?: boolean;
  quiet?: boolean;
  /** False with `--no-color`. */
  color: boolean;
  /** False with `--no-pager`. */
  pager: boolean;
}

/** Where the run half of a command prints and asks. */
export interface Io {
  output: Output;
  prompts: Prompts;
}

/** What a command gets once the line is parsed. */
export interface CommandContext<Options extends object> {
  options: Globals & Options;
  args: readonly string[];
  io: Io;
  interrupts: Interrupts;
}

/** Resolves to the exit code; undefined when the command did its work, or ran until it was stopped. */
export type Action<Options extends object> = (context: CommandContext<Options>) => Promise<ExitCode> | Promise<void>;

/** Ties commander's commands to their run halves. */
export interface Host {
  /**
   * Gives a command its work; an exit code that it resolves to becomes the process's.
   * @param prints what `--fields` may name; null for a command that prints no data
   */
  add<Options extends object = object>(command: Command, prints: Prints | null, work: Action<Options>): void;
  wholeProgram(): Promise<Command>;
}

/**
 * A module of the registry: `register` adds options, verbs and actions to the noun it is given. It is loaded only when
 * the command line names it, and imports what is heavy only when it runs.
 */
export interface CommandModule {
  register(noun: Command, host: Host): void;
}

/** Opens the tenant while `work` runs. @param io its `onSealed` receives each audit entry that the command writes */
export async function withSession<Value>(
  options: SessionOptions & ReceiptOptions,
  { output, onSealed }: Pick<Io, "output"> & { onSealed?: ReceiptBook["onSealed"] },
  work: (session: TenantSession) => Promise<Value>,
): Promise<Value> {
  const { openSession } = await import("../app/tenant/session.ts");
  const receipts = openReceipts(options, output);
  try {
    const session = await openSession(
      options,
      (message) => output.note(message),
      (tenant, seal) => {
        onSealed?.(tenant, seal);
        receipts.onSealed(tenant, seal);
      },
    );
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  } finally {
    receipts.close();
  }
}

/** Opens a tenant's files, and the way to its server or database, while `work` runs. */
export async function withConfig<Value>(
  directory: string,
  tenant: string,
  options: ConfigSessionOptions,
  { output, onSealed }: Pick<Io, "output"> & { onSealed?: ReceiptBook["onSealed"] },
  work: (session: ConfigSession) => Promise<Value>,
): Promise<Value> {
  const { openConfigSession } = await import("../app/tenant/config-session.ts");
  const session = await openConfigSession(directory, tenant, options, {
    note: (message) => output.note(message),
    onSealed: (seal) => onSealed?.(tenant, seal),
  });
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}
