/** A sleep that can be cut short. Rung while it is not sleeping, it shortens the next sleep, so no wake-up is lost. */
export class Alarm {
  #rung = false;
  #wake = (): void => {};

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  async sleep(ms: number): Promise<void> {
    if (!this.#rung) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const timer = setTimeout(resolve, ms);
      await promise;
      clearTimeout(timer);
    }
    this.#rung = false;
  }
}
