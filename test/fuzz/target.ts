import type { Random } from "../model/random.ts";

/** Something that takes what strangers may have written. */
export interface Target {
  name: string;
  /** How many cases may be under way at a time. */
  concurrency: number;
  /** Whether the same bytes run the same code, so that coverage tells which of them are worth keeping. */
  guided: boolean;
  /** Bytes to begin with. */
  seeds: readonly Buffer[];
  /** A new case. */
  make(random: Random, corpus: readonly Buffer[]): Buffer;
  /** @throws Finding, or any other error, for what must not be */
  run(input: Buffer): Promise<void> | void;
  /** What must hold now and then, and at the end. */
  check?(): Promise<void>;
  close?(): Promise<void>;
}

/** What must not be. */
export class Finding extends Error {
  override name = "Finding";
}
