import { createHash } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Random } from "../model/random.ts";
import { Coverage } from "./coverage.ts";
import { Finding, type Target } from "./target.ts";

export interface FuzzOptions {
  seed: number;
  /** The number of the first case. */
  from?: number;
  cases: number;
  onStep?: (step: { done: number; heapMb: number; corpus: number; blocks: number }) => void;
}

/** What was found first, with the input that shows it. */
export interface Found {
  index: number;
  input: Buffer;
  error: Error;
}

export interface FuzzResult {
  done: number;
  seconds: number;
  /** The slowest case. */
  slowestMs: number;
  /** What the seeds grew to. */
  corpus: Buffer[];
  heapsMb: number[];
  found: Found | undefined;
}

const HANG_MS = 1000;
const RETRIES = 5;
const BATCH = 64;
const STEPS = 10;
/** While V8 counts, nothing is optimised: the corpus grows first, and then the cases go at full speed. */
const GUIDED_CASES = 2000;
const LARGEST_CORPUS = 3000;
const MB = 1024 * 1024;
/** Caches fill and code is compiled; a leak of a hundred bytes a case shows all the same. */
const GROWTH_MB = 32;

/** Runs a target until its cases are done or one shows something that must not be. */
export async function fuzz(target: Target, { seed, from = 0, cases, onStep }: FuzzOptions): Promise<FuzzResult> {
  const corpus = [...target.seeds];
  const known = new Set(corpus.map(digest));
  let coverage = target.guided ? new Coverage() : undefined;
  let blocks = 0;
  const collect = collector();
  const heapsMb: number[] = [];
  const began = performance.now();
  const state = { done: 0, slowestMs: 0, found: undefined as Found | undefined };
  const slow: { input: Buffer; index: number }[] = [];
  let stray: Error | undefined;
  const onStray = (reason: unknown) => {
    stray ??= new Finding(`an unhandled rejection: ${reason instanceof Error ? reason.stack : String(reason)}`);
  };
  process.on("unhandledRejection", onStray);
  const attempt = async (input: Buffer, index: number): Promise<void> => {
    try {
      const ms = await timed(target, input);
      if (ms > HANG_MS) slow.push({ input, index });
      else state.slowestMs = Math.max(state.slowestMs, ms);
      if (stray) throw stray;
    } catch (error) {
      state.found ??= { index, input, error: error as Error };
    }
  };
  /** A busy machine makes many things slow once: what is always slow, alone too, hangs. */
  const retry = async ({ input, index }: { input: Buffer; index: number }): Promise<void> => {
    let least = Number.POSITIVE_INFINITY;
    for (let left = RETRIES; left > 0 && least > HANG_MS; left--) least = Math.min(least, await timed(target, input));
    state.slowestMs = Math.max(state.slowestMs, least);
    if (least > HANG_MS) state.found ??= { index, input, error: new Finding(`it takes ${Math.round(least)} ms`) };
  };
  try {
    for (const input of corpus) await attempt(input, -1);
    coverage?.hasNew();
    const stepAt = Math.max(1, Math.floor(cases / STEPS));
    let next = stepAt;
    while (state.done < cases && !state.found) {
      const inputs = Array.from({ length: Math.min(BATCH, cases - state.done) }, (_, index) =>
        target.make(new Random(seed * 1_000_003 + from + state.done + index), corpus),
      );
      await inLanes(inputs, target.concurrency, (input, index) => attempt(input, from + state.done + index));
      for (const each of slow.splice(0)) await retry(each);
      state.done += inputs.length;
      if (coverage?.hasNew(false) && !state.found) {
        const again = async (some: readonly Buffer[]) => {
          for (const input of some) await attempt(input, -1);
        };
        for (const input of await reaching(inputs, again, coverage))
          if (corpus.length < LARGEST_CORPUS && !known.has(digest(input))) {
            known.add(digest(input));
            corpus.push(input);
          }
      }
      blocks = coverage?.blocks ?? blocks;
      if (state.done >= Math.min(GUIDED_CASES, cases / STEPS)) {
        coverage?.close();
        coverage = undefined;
      }
      if (state.done < next && state.done < cases) continue;
      next += stepAt;
      await target.check?.();
      heapsMb.push(collect());
      onStep?.({ done: state.done, heapMb: heapsMb.at(-1) ?? 0, corpus: corpus.length, blocks });
    }
    if (!state.found && grows(heapsMb)) {
      const error = new Finding(`the heap grows: ${heapsMb.map((mb) => mb.toFixed(1)).join(", ")} MB`);
      state.found = { index: state.done, input: Buffer.alloc(0), error };
    }
  } finally {
    process.off("unhandledRejection", onStray);
    coverage?.close();
  }
  return { ...state, seconds: (performance.now() - began) / 1000, corpus, heapsMb };
}

/** Those of a batch that reach what was never reached, found by halves. */
async function reaching(
  inputs: readonly Buffer[],
  run: (inputs: readonly Buffer[]) => Promise<void>,
  coverage: Coverage,
): Promise<Buffer[]> {
  await run(inputs);
  if (!coverage.hasNew(inputs.length === 1)) return [];
  if (inputs.length === 1) return [...inputs];
  const half = Math.ceil(inputs.length / 2);
  const found: Buffer[] = [];
  for (const part of [inputs.slice(0, half), inputs.slice(half)]) found.push(...(await reaching(part, run, coverage)));
  return found;
}

async function timed(target: Target, input: Buffer): Promise<number> {
  const began = performance.now();
  await target.run(input);
  return performance.now() - began;
}

async function inLanes(inputs: Buffer[], lanes: number, work: (input: Buffer, index: number) => Promise<void>) {
  let next = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let index = next++; index < inputs.length; index = next++) await work(inputs[index] as Buffer, index);
    }),
  );
}

/** The later half never comes down to what the earlier one did. */
function grows(heapsMb: readonly number[]): boolean {
  const settled = heapsMb.slice(Math.floor(heapsMb.length / 5));
  const half = Math.floor(settled.length / 2);
  if (half < 2) return false;
  return Math.min(...settled.slice(half)) - Math.min(...settled.slice(0, half)) > GROWTH_MB;
}

/** How many megabytes are left after a collection. */
function collector(): () => number {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  return () => {
    gc();
    return process.memoryUsage().heapUsed / MB;
  };
}

function digest(input: Buffer): string {
  return createHash("sha256").update(input).digest("hex");
}
