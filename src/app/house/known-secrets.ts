import type { Environment } from "../../config/environment.ts";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";

/** Reading every file again holds a worker up by 0.1 s for five hundred tenants. */
const READ_AGAIN_MS = 10 * SECOND_MS;

/**
 * The secrets of all tenants of a directory, which a tenant's own are held against when it is opened: no value may stand in
 * two places. They are read once, since reading them takes every tenant's file, and again after a tenant was refused,
 * because the other place of its value may have been mended.
 */
export class KnownSecrets {
  readonly #directory: string;
  #secrets: DirectorySecrets | undefined;
  #readAt = 0;
  #isDoubted = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** @param environment as it is now, for when they are read */
  current(environment: Environment): DirectorySecrets {
    const mayBeOld = this.#isDoubted && monotonicMs() - this.#readAt >= READ_AGAIN_MS;
    if (this.#secrets && !mayBeOld) return this.#secrets;
    this.#secrets = new DirectorySecrets(this.#directory, environment);
    this.#readAt = monotonicMs();
    this.#isDoubted = false;
    return this.#secrets;
  }

  /** A tenant was refused by them. */
  doubt(): void {
    this.#isDoubted = true;
  }
}
