import type { Page, Request } from "playwright-core";
import { percentile } from "../../bench/figures.ts";

/** What a person waits for, what the server takes for an answer, and how long the page may not react, in milliseconds. */
export const BOUNDS = { viewMs: 2000, answerMs: 1500, taskMs: 200 };
/** The most elements of a page: more would be drawn slowly at each change. */
export const MOST_ELEMENTS = 12_000;

export interface StepOptions {
  /** For work whose progress the page shows. */
  viewMs?: number;
  /** For answers of such work. */
  answerMs?: number;
}

export interface Step {
  name: string;
  /** From the action until the view has all its figures, each time. */
  waitsMs: number[];
  /** Of the slowest request, each with its path. */
  answers: { path: string; ms: number }[];
  longestTaskMs: number;
  elements: number;
  /** Why the view did not come. */
  failures: string[];
  bounds: typeof BOUNDS;
}

/** Follows a page, step by step: what each takes, what it asks the server, and how long the page was busy with itself. */
export class Walk {
  readonly steps: Step[] = [];
  readonly #page: Page;
  readonly #tell: (line: string) => void;
  #answers: Step["answers"] = [];

  private constructor(page: Page, tell: (line: string) => void) {
    this.#page = page;
    this.#tell = tell;
    page.on("requestfinished", (request) => this.#answered(request));
  }

  /** @param tell called after each step */
  static async of(page: Page, tell: (line: string) => void): Promise<Walk> {
    await page.evaluate(
      `window.longTasks = [];
       new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
         .observe({ type: "longtask" });`,
    );
    return new Walk(page, tell);
  }

  /** @param act what a person does; the next view, or the next state of it, follows by itself */
  async step(name: string, act: () => Promise<unknown>, { viewMs, answerMs }: StepOptions = {}): Promise<void> {
    const known = this.steps.find((each) => each.name === name);
    const step = known ?? {
      ...{ name, waitsMs: [], answers: [], longestTaskMs: 0, elements: 0, failures: [] },
      bounds: { ...BOUNDS, ...(viewMs ? { viewMs } : {}), ...(answerMs ? { answerMs } : {}) },
    };
    if (!known) this.steps.push(step);
    this.#answers = step.answers;
    await this.#longestTask();
    const startedAt = performance.now();
    try {
      await act();
      await this.settled();
    } catch (error) {
      step.failures.push(String(error).split("\n")[0] ?? "");
    }
    step.waitsMs.push(performance.now() - startedAt);
    step.longestTaskMs = Math.max(step.longestTaskMs, await this.#longestTask());
    this.#tell(`${name}: ${step.waitsMs.at(-1)?.toFixed(0)} ms`);
    step.elements = Math.max(step.elements, await this.#page.evaluate<number>("document.querySelectorAll('*').length"));
  }

  /** Waits until every part of the view has its figures. */
  async settled(): Promise<void> {
    await this.#page.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))",
    );
    await this.#page.locator(`main:has(.figures):not(:has(.figures[aria-busy="true"]))`).waitFor();
  }

  /** Stays on the view, while others trade. @returns requests for each second */
  async stay(name: string, ms: number, { answerMs }: StepOptions = {}): Promise<number> {
    const before = this.#answers.length;
    const options = { viewMs: ms + BOUNDS.viewMs, ...(answerMs ? { answerMs } : {}) };
    await this.step(name, () => this.#page.waitForTimeout(ms), options);
    return (this.#answers.length - before) / (ms / 1000);
  }

  #answered(request: Request): void {
    const { responseEnd, requestStart } = request.timing();
    const path = new URL(request.url()).pathname.replace(/^.*\/console\/api/, "");
    // The question whether anything happened is asked on every page.
    if (!path.startsWith("/v1/") || request.url().endsWith("/v1/audit?limit=1")) return;
    this.#answers.push({ path, ms: responseEnd - requestStart });
  }

  #longestTask(): Promise<number> {
    return this.#page.evaluate<number>("Math.max(0, ...longTasks.splice(0))");
  }
}

/** One line of the table for each step. */
export function lineOf({ name, waitsMs, answers, longestTaskMs, elements }: Step): string {
  const sorted = waitsMs.toSorted((a, b) => a - b);
  const slowest = answers.toSorted((a, b) => b.ms - a.ms)[0];
  const ms = (value: number) => `${value.toFixed(0)} ms`;
  const cells = [ms(percentile(sorted, 0.5)), ms(sorted.at(-1) ?? 0), String(answers.length)];
  const further = [slowest ? `${ms(slowest.ms)} ${slowest.path}` : "—", ms(longestTaskMs), String(elements)];
  return `| ${[name, ...cells, ...further].join(" | ")} |`;
}

/** Why a step is too slow; empty for one that is not. */
export function stallsOf({ name, waitsMs, answers, longestTaskMs, elements, failures, bounds }: Step): string[] {
  const slowest = answers.toSorted((a, b) => b.ms - a.ms)[0];
  const wait = Math.max(...waitsMs);
  const over = (what: string, figure: number, most: number) =>
    figure > most ? [`${name}: ${what} ${figure.toFixed(0)}, at most ${most}`] : [];
  return [
    ...failures.map((failure) => `${name}: ${failure}`),
    ...over("waited ms", wait, bounds.viewMs),
    ...over(`ms for ${slowest?.path}`, slowest?.ms ?? 0, bounds.answerMs),
    ...over("busy ms", longestTaskMs, bounds.taskMs),
    ...over("elements", elements, MOST_ELEMENTS),
  ];
}
