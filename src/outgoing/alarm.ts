/** A sleep that can be cut short. A wake-up while there is no sleep shortens the next one, so no wake-up is lost. */
export class Alarm {
  #isWoken = false;
  #end = (): void => {};

  wake(): void {
    this.#isWoken = true;
    this.#end();
  }

  async sleep(ms: number): Promise<void> {
    if (!this.#isWoken) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#end = resolve;
      const timer = setTimeout(resolve, ms);
      await promise;
      clearTimeout(timer);
    }
    this.#isWoken = false;
  }
}
