import { totalmem } from "node:os";
import { setFlagsFromString } from "node:v8";
import { processEnvironment } from "../../config/environment.ts";
import { DEFAULT_MEMORY_MB } from "../../config/schema/server-limits.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";

/** What a server takes beside its young generation at 10,000 trades a second, in MiB. */
const BESIDE_NURSERY_MB = 150;
/** V8 fills three times the size that it is given: two halves, and what it promotes before the next full collection. */
const NURSERY_PARTS = 3;
/** V8 rounds to powers of two. With 128 MiB a loaded server takes more than 400 MB. */
const NURSERIES_MB = [64, 32, 16, 8, 4];
const SMALLEST_NURSERY_MB = 2;
const MIB = 2 ** 20;

/**
 * V8's optimising compiler is used by the loading of modules alone while a server starts, and its code, once it was used,
 * stays in memory: 5 MB. A server that has started compiles as V8 does by itself.
 */
const TURBOFAN_CALLS = "--invocation-count-for-turbofan";
const CALLS_WHILE_STARTING = 1_000_000;
const CALLS_OF_V8 = 3000;

/**
 * The process's environment where it says nothing else. glibc gives each of V8's threads an arena that it hardly uses and
 * never returns: 20 MB in all.
 */
const ENVIRONMENT = { MALLOC_ARENA_MAX: "1" };

/**
 * Node keeps what it reads of its compile cache, 4 to 8 MB, and the cache saves a start 60 ms, so a server does without the
 * one that pmctl keeps. A directory that the environment names is used: from sources, whose types Node strips anew each
 * time, it saves most of a start.
 */
const WITHOUT_COMPILE_CACHE = { NODE_DISABLE_COMPILE_CACHE: "1" };

/** How long a server has to do nothing before it is collected: no request, and less than this of CPU. */
const QUIET_MS = 5000;
const QUIET_CPU_US = 100_000;
/** A collection takes 100 ms, so it has to give back as much as a walk of the log leaves behind. */
const WORTH_BYTES = 12 * MIB;

/**
 * The size of V8's young generation for a server that may take so much memory under full load. A smaller one is collected
 * more often, and copies more answers that are still on their way: see docs/design/operations.md for what each size costs.
 * @param machineBytes what the machine or the control group has; a server counts on half, since its database and other servers live there too
 * @returns MiB
 */
export function nurseryMb(memoryMb: number, machineBytes: number): number {
  const forNursery = Math.min(memoryMb, machineBytes / MIB / 2) - BESIDE_NURSERY_MB;
  return NURSERIES_MB.find((size) => size * NURSERY_PARTS <= forNursery) ?? SMALLEST_NURSERY_MB;
}

/** Node's options for a heap that may hold so much under full load. */
export function nurseryOptions(memoryMb: number): string[] {
  return [
    `--max-semi-space-size=${nurseryMb(memoryMb, machineBytes())}`,
    // Full collections come earlier: without it the old generation grows to 270 MB with 60 MB of live objects.
    "--heap-growing-percent=70",
    // V8 would place objects of a kind that once outlived a collection among the old ones from the start, for as long as the
    // process lives. Requests in flight do outlive one; placed so, each would keep all that it refers to until a full one.
    "--no-allocation-site-pretenuring",
  ];
}

/**
 * Node's options for the server of a tenant, which calls `endStart` once it has started. A file that cannot be read counts
 * as one without `server.memoryMb`: its server says what is wrong.
 */
export function heapOptions(directory: string, tenant: string): string[] {
  return serverOptions(memoryMbOf(directory, tenant));
}

/** The same for a process that serves several tenants. */
export function sharedHeapOptions(): string[] {
  return serverOptions(DEFAULT_MEMORY_MB);
}

function serverOptions(memoryMb: number): string[] {
  return [
    ...nurseryOptions(memoryMb),
    `${TURBOFAN_CALLS}=${CALLS_WHILE_STARTING}`,
    // For `endStart`.
    "--expose-gc",
  ];
}

/** Node's environment for a server, where the process's own says nothing else. */
export function heapEnvironment(): Record<string, string> {
  const stated = Object.entries(processEnvironment()).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const cache = processEnvironment().NODE_COMPILE_CACHE ? {} : WITHOUT_COMPILE_CACHE;
  return { ...ENVIRONMENT, ...cache, ...Object.fromEntries(stated) };
}

/**
 * Replaces this process by itself with Node's options for a server, which V8 takes on its command line only: pid, streams
 * and arguments stay. @param heap Node's options. Returns where that is done already, NODE_OPTIONS set a size, or the platform has no `execve`.
 */
export function limitHeap(heap: () => string[]): void {
  const { execArgv, argv, execPath, execve } = process;
  if (execve === undefined || process.platform === "win32") return;
  const options = [...execArgv, processEnvironment().NODE_OPTIONS ?? ""];
  if (options.some((option) => option.includes("semi-space-size"))) return;
  execve.call(process, execPath, [execPath, ...heap(), ...execArgv, ...argv.slice(1)], heapEnvironment());
}

/**
 * Gives back what only the start needed: a nursery full of it, and modules' texts. From then on also what later work left
 * behind, such as the walk of the log after the start, once there is no more of it: V8 collects when it allocates, which a
 * server that does nothing hardly does.
 * @param answered requests so far: a collection would hold up those of a server that has any
 */
export function endStart(answered: () => number): void {
  setFlagsFromString(`${TURBOFAN_CALLS}=${CALLS_OF_V8}`);
  const { gc } = globalThis;
  if (!gc) return;
  // An ordinary collection keeps the nursery at the size that it has grown to.
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

/** Of the machine, or of the control group where that has less. */
function machineBytes(): number {
  // 0 where there is no limit, and more than the machine has where the group states none.
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
