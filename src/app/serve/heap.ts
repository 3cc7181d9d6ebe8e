import { totalmem } from "node:os";
import { setFlagsFromString } from "node:v8";
import { forgetVariables, processEnvironment } from "../../config/environment.ts";
import { DEFAULT_MEMORY_MB } from "../../config/schema/server-limits.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";

/** The memory of a server beside its young generation at 10,000 trades a second, in MiB. */
const BESIDE_NURSERY_MB = 150;
/** V8 fills three times the configured size: two halves, and what it promotes before the next full collection. */
const NURSERY_PARTS = 3;
/** V8 rounds to powers of two. With 128 MiB a loaded server takes more than 400 MB. */
const NURSERIES_MB = [64, 32, 16, 8, 4];
const SMALLEST_NURSERY_MB = 2;
const MIB = 2 ** 20;

/**
 * While a server starts, only the loading of modules would use V8's optimising compiler, and its code would then stay
 * in memory: 5 MB. After the start a server compiles as V8 does by default.
 */
const TURBOFAN_CALLS = "--invocation-count-for-turbofan";
const CALLS_WHILE_STARTING = 1_000_000;
const CALLS_OF_V8 = 3000;

/**
 * Settings of glibc, where the process's environment has none. It gives each of V8's threads an arena that it hardly
 * uses and never returns: 20 MB in all. It returns a freed block only from the end of its heap, or where it has mapped
 * the block alone. By default it soon maps none of the blocks that a walk of the log reads: 25 MB.
 */
const ENVIRONMENT = { MALLOC_ARENA_MAX: "1", GLIBC_TUNABLES: "glibc.malloc.mmap_threshold=32768" };

/**
 * Node keeps in memory what it reads of its compile cache, 4 to 8 MB, and the cache saves a start 60 ms, so a server
 * runs without pmctl's. A directory from the environment is used: from sources, whose types Node strips at each start,
 * it saves most of a start.
 */
const WITHOUT_COMPILE_CACHE = { NODE_DISABLE_COMPILE_CACHE: "1" };

/** The time that a server must be idle before a collection: no request, and less than this of CPU. */
const QUIET_MS = 5000;
const QUIET_CPU_US = 100_000;
/** A collection takes 100 ms, so it must free at least as much as a walk of the log leaves behind. */
const WORTH_BYTES = 12 * MIB;

/**
 * The size of V8's young generation for a server with this much memory under full load. A smaller one is collected more
 * often, and copies more unfinished answers: docs/design/operations.md says what each size costs.
 * @param machineBytes of the machine or the control group; a server counts on half, since its database is there too
 * @returns MiB
 */
export function nurseryMb(memoryMb: number, machineBytes: number): number {
  const forNursery = Math.min(memoryMb, machineBytes / MIB / 2) - BESIDE_NURSERY_MB;
  return NURSERIES_MB.find((size) => size * NURSERY_PARTS <= forNursery) ?? SMALLEST_NURSERY_MB;
}

/** Node's options for a heap with this much memory under full load. */
export function nurseryOptions(memoryMb: number): string[] {
  return [
    `--max-semi-space-size=${nurseryMb(memoryMb, machineBytes())}`,
    // Full collections come earlier: without this option the old generation grows to 270 MB with 60 MB of live objects.
    "--heap-growing-percent=70",
    // V8 would otherwise put objects of a kind that once survived a collection into the old generation for ever.
    // Requests in flight do survive one; there, each would keep all that it refers to until a full collection.
    "--no-allocation-site-pretenuring",
  ];
}

/**
 * Node's options for the server of a tenant, which calls `endStart` once it has started. A file that cannot be read
 * counts as one without `server.memoryMb`: its server reports the problem.
 */
export function heapOptions(directory: string, tenant: string): string[] {
  return serverOptions(memoryMbOf(directory, tenant));
}

/** The options for a process that serves several tenants. */
export function sharedHeapOptions(): string[] {
  return serverOptions(DEFAULT_MEMORY_MB);
}

function serverOptions(memoryMb: number): string[] {
  return [
    ...nurseryOptions(memoryMb),
    `${TURBOFAN_CALLS}=${CALLS_WHILE_STARTING}`,
    // Needed by `endStart`.
    "--expose-gc",
  ];
}

/** Node's environment for a server; variables of the process take precedence. */
export function heapEnvironment(): Record<string, string> {
  const stated = Object.entries(processEnvironment()).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const cache = processEnvironment().NODE_COMPILE_CACHE ? {} : WITHOUT_COMPILE_CACHE;
  return { ...ENVIRONMENT, ...cache, ...Object.fromEntries(stated) };
}

/**
 * Restarts this process in place with Node's options for a server, which V8 takes only on its command line; pid,
 * streams and arguments stay. Does nothing if that is done, NODE_OPTIONS sets a size, or `execve` is missing. Programs
 * that the server starts do not inherit glibc's settings: PostgreSQL would map its memory anew for each statement.
 */
export function limitHeap(heap: () => string[]): void {
  forgetVariables(ENVIRONMENT);
  const { execArgv, argv, execPath, execve } = process;
  if (execve === undefined || process.platform === "win32") return;
  const options = [...execArgv, processEnvironment().NODE_OPTIONS ?? ""];
  if (options.some((option) => option.includes("semi-space-size"))) return;
  execve.call(process, execPath, [execPath, ...heap(), ...execArgv, ...argv.slice(1)], heapEnvironment());
}

/**
 * Frees the memory of the start: a full nursery, and modules' texts. Later it also frees what other work left behind,
 * such as the walk of the log, once that has ended: V8 collects when it allocates, which an idle server hardly does.
 * @param answered requests so far; a collection would delay requests in flight
 */
export function endStart(answered: () => number): void {
  setFlagsFromString(`${TURBOFAN_CALLS}=${CALLS_OF_V8}`);
  const { gc } = globalThis;
  if (!gc) return;
  // An ordinary collection would keep the nursery at the size to which it has grown.
  const collect = () => gc({ type: "major", execution: "sync", flavor: "last-resort" });
  collect();
  let lowest = process.memoryUsage.rss();
  let before = { cpu: process.cpuUsage(), requests: answered() };
  setInterval(() => {
    const { user, system } = process.cpuUsage(before.cpu);
    const isQuiet = answered() === before.requests && user + system < QUIET_CPU_US;
    before = { cpu: process.cpuUsage(), requests: answered() };
    if (!isQuiet || process.memoryUsage.rss() < lowest + WORTH_BYTES) return;
    collect();
    lowest = process.memoryUsage.rss();
  }, QUIET_MS).unref();
}

function memoryMbOf(directory: string, tenant: string): number {
  try {
    return loadTenantFile(tenantPath(directory, tenant)).server.memoryMb;
  } catch (error) {
    if (error instanceof Fault) return DEFAULT_MEMORY_MB;
    throw error;
  }
}

/** Of the machine, or of the control group if that has less. */
function machineBytes(): number {
  // 0 without a limit, and more than the machine has where the group states none.
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
