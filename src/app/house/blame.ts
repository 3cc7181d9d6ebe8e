/** So many openings in a row that end their worker, and a tenant is set apart. */
const MOST_ENDINGS = 3;

/**
 * Whose opening ends a worker. After an end with several openings under way, those tenants are opened one after the other, so that the
 * next end has one cause and no tenant is blamed for another's.
 */
export class Blame {
  readonly #opening = new Set<string>();
  readonly #endings = new Map<string, number>();

  begin(tenant: string): void {
    this.#opening.add(tenant);
  }

  /** It was opened, or refused. */
  end(tenant: string): void {
    this.#opening.delete(tenant);
    this.#endings.delete(tenant);
  }

  /**
   * The worker ended.
   * @param failed whether it was killed or did not end in order
   * @returns the tenants that are blamed: those that were being opened
   */
  workerEnded(failed: boolean): string[] {
    const blamed = failed ? [...this.#opening] : [];
    this.#opening.clear();
    for (const tenant of blamed) this.#endings.set(tenant, (this.#endings.get(tenant) ?? 0) + 1);
    return blamed;
  }

  /** Tenants that may have ended it, to be opened one after the other. */
  get suspects(): string[] {
    return this.#tenants((endings) => endings < MOST_ENDINGS);
  }

  /** Tenants that are opened no more. */
  get apart(): string[] {
    return this.#tenants((endings) => endings >= MOST_ENDINGS);
  }

  #tenants(fits: (endings: number) => boolean): string[] {
    return [...this.#endings].filter(([, endings]) => fits(endings)).map(([tenant]) => tenant);
  }
}

/** What is wrong with a tenant that is set apart, and what to do. */
export function apartProblem(tenant: string): string {
  return `set apart, because ${MOST_ENDINGS} times in a row its opening ended its worker, whose last lines may say why: \`pmctl up --isolate ${tenant}\` gives it a process of its own, and a new start of the house tries it again`;
}
