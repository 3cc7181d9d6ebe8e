/** Often enough that what credentials opened ends within the second. */
const LOOK_EVERY_MS = 400;

/** Those who want to know soon when credentials of one kind end, and a timer that looks for it while there are any. */
export class CredentialWatch {
  readonly #look: () => void;
  readonly #watchers = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** @param look reads anew what is known of the credentials, and calls `tell` if some have ended */
  constructor(look: () => void) {
    this.#look = look;
  }

  /** @returns how to stop it */
  add(onEnded: () => void): () => void {
    this.#watchers.add(onEnded);
    this.#timer ??= setInterval(this.#look, LOOK_EVERY_MS).unref();
    return () => {
      this.#watchers.delete(onEnded);
      if (this.#watchers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** After a change by this process, which need not wait for the timer. */
  look(): void {
    if (this.#watchers.size > 0) this.#look();
  }

  tell(): void {
    for (const onEnded of this.#watchers) onEnded();
  }
}
