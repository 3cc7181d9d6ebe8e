import { subscribe, unsubscribe } from "node:diagnostics_channel";
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
 * V8's optimising compilers, by the option that says after how many calls of a function each compiles it; with V8's own
 * figure. Before the first request only the loading of modules and the walk of the log are hot, and once a compiler was
 * used it stays in memory: 8 MB for Maglev, 5 MB for TurboFan.
 */
const COMPILERS = { "--invocation-count-for-maglev": 400, "--invocation-count-for-turbofan": 3000 };
/**
 * V8 reads the figure when a function is first warm and keeps it, so the first request makes it forget those of functions
 * that are warm by then: they would stay slow under load.
 */
const CALLS_BEFORE_REQUESTS = 1_000_000;

/** Where Node tells of each request that any HTTP server of this process gets, before it is answered. */
const REQUESTS = "http.server.request.start";
/** What the operations listener answers, to probes, has other paths. */
const API_PATHS = "/v1/";

/**
 * The process's environment where it says nothing else. glibc gives each of V8's threads an arena that it hardly uses and
 * never returns: 20 MB in all. Node keeps what it reads of its compile cache, 4 to 8 MB, and it saves a start 60 ms.
 */
const ENVIRONMENT = { MALLOC_ARENA_MAX: "1", NODE_DISABLE_COMPILE_CACHE: "1" };

/** How long a server has no request before it is collected; twice as long after each time, since what it walks again leaves as much again. */
const QUIET_MS = 5000;
const LONGEST_QUIET_MS = 300_000;
/** A collection takes 100 ms, so it has to give back as much as a walk of the log leaves behind. */
const WORTH_BYTES = 6 * MIB;

/**
 * The size of V8's young generation for a server that may take so much memory under full load. A smaller one is collected
 * more often, and copies more answers that are still on their way: see docs/operations.md for what each size costs.
 * @param machineBytes what the machine or the control group has; a server counts on half, since its database and other servers live there too
 * @returns MiB
 */
export function nurseryMb(memoryMb: number, machineBytes: number): number {
  const forNursery = Math.min(memoryMb, machineBytes / MIB / 2) - BESIDE_NURSERY_MB;
  return NURSERIES_MB.find((size) => size * NURSERY_PARTS <= forNursery) ?? SMALLEST_NURSERY_MB;
}

/** Node's options for a heap of which so much may be used under full load. */
export function nurseryOptions(memoryMb: number): string[] {
  return [
    `--max-semi-space-size=${nurseryMb(memoryMb, machineBytes())}`,
    // Full collections come earlier: without it the old generation grows to 270 MB with 60 MB of live objects.
    "--heap-growing-percent=70",
  ];
}

/**
 * Node's options for the server of a tenant, which calls `endStart` once it has started. A file that cannot be read counts
 * as one without `server.memoryMb`: its server says what is wrong.
 */
export function heapOptions(directory: string, tenant: string): string[] {
  return [
    ...nurseryOptions(memoryMbOf(directory, tenant)),
    ...Object.keys(COMPILERS).map((option) => `${option}=${CALLS_BEFORE_REQUESTS}`),
    // For `endStart`.
    "--expose-gc",
  ];
}

/** Node's environment for a server, where the process's own says nothing else. */
export function heapEnvironment(): Record<string, string> {
  const stated = Object.entries(processEnvironment()).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { ...ENVIRONMENT, ...Object.fromEntries(stated) };
}

/**
 * Replaces this process by itself with Node's options for a server, which V8 takes on its command line only: pid, streams
 * and arguments stay. Returns where that is done already, NODE_OPTIONS set a size, or the platform has no `execve`.
 */
export function limitHeap(directory: string, tenant: string): void {
  const { execArgv, argv, execPath, execve } = process;
  if (execve === undefined || process.platform === "win32") return;
  const options = [...execArgv, processEnvironment().NODE_OPTIONS ?? ""];
  if (options.some((option) => option.includes("semi-space-size"))) return;
  execve.call(
    process,
    execPath,
    [execPath, ...heapOptions(directory, tenant), ...execArgv, ...argv.slice(1)],
    heapEnvironment(),
  );
}

/**
 * Gives back what only the start needed: a nursery full of it, and modules' texts. From then on also what later work left
 * behind, such as the walk of the log, while no request comes: V8 lets a walk fill the whole young generation, and collects
 * when it allocates, which a server that does nothing hardly does.
 * @param answered requests so far: a collection would hold up those of a server that has any
 */
export function endStart(answered: () => number): void {
  subscribe(REQUESTS, compileFromFirstRequest);
  const { gc } = globalThis;
  if (!gc) return;
  // An ordinary collection keeps the nursery at the size that it has grown to.
  const collect = () => gc({ type: "major", execution: "sync", flavor: "last-resort" });
  collect();
  let lowest = process.memoryUsage.rss();
  let requests = answered();
  let quietMs = QUIET_MS;
  const look = () => {
    if (answered() !== requests) quietMs = QUIET_MS;
    else if (process.memoryUsage.rss() >= lowest + WORTH_BYTES) {
      collect();
      lowest = process.memoryUsage.rss();
      quietMs = Math.min(quietMs * 2, LONGEST_QUIET_MS);
    }
    requests = answered();
    setTimeout(look, quietMs).unref();
  };
  setTimeout(look, quietMs).unref();
}

/** @param message as Node documents it for this channel: `{request}` among others */
function compileFromFirstRequest(message: unknown): void {
  if (!pathOf(message)?.startsWith(API_PATHS)) return;
  unsubscribe(REQUESTS, compileFromFirstRequest);
  for (const [option, calls] of Object.entries(COMPILERS)) setFlagsFromString(`${option}=${calls}`);
  // Forgets the code of all functions, and with it the old figures: 30 ms, once.
  setFlagsFromString("--stress-flush-code");
  globalThis.gc?.({ type: "major", execution: "sync" });
  setFlagsFromString("--no-stress-flush-code");
}

function pathOf(message: unknown): string | undefined {
  const url = propertyOf(propertyOf(message, "request"), "url");
  return typeof url === "string" ? url : undefined;
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
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
