import { Session } from "node:inspector";

interface Range {
  startOffset: number;
  endOffset: number;
  count: number;
}
interface Taken {
  result: { scriptId: string; url: string; functions: { ranges: Range[] }[] }[];
}

/**
 * Which blocks of the sources have run, by V8's own precise coverage. Taking it takes a millisecond or more, so a batch
 * of cases is judged as a whole, and run again one by one when it has reached something new.
 */
export class Coverage {
  readonly #session = new Session();
  readonly #seen = new Set<string>();

  constructor() {
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  get blocks(): number {
    return this.#seen.size;
  }

  /** Whether blocks ran since the last call that had never run before. They count as seen from now on, unless told. */
  hasNew(remember = true): boolean {
    const fresh = this.#take().filter((block) => !this.#seen.has(block));
    if (remember) for (const block of fresh) this.#seen.add(block);
    return fresh.length > 0;
  }

  #take(): string[] {
    let taken: Taken | undefined;
    // In the same thread the answer is there when the call returns.
    this.#session.post("Profiler.takePreciseCoverage", (_error, answer) => {
      taken = answer as Taken;
    });
    return (taken?.result ?? [])
      .filter(({ url }) => url.includes("/src/"))
      .flatMap(({ scriptId, functions }) =>
        functions.flatMap(({ ranges }) =>
          ranges.filter(({ count }) => count > 0).map((range) => `${scriptId}:${range.startOffset}:${range.endOffset}`),
        ),
      );
  }

  close(): void {
    this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }
}
