import type { Logger } from "pino";
import { Fault } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { ConnectionLost, classify } from "../../postgres/connect.ts";

const LOOK_AGAIN_MS = 500;

/**
 * Reports an outage of the database with one log line at its beginning and one at its end. Otherwise every background
 * job and every request would log its own stack.
 */
export class DatabaseOutage {
  #isUp: (() => Promise<boolean>) | undefined;
  #log: Logger | undefined;
  #awaySince: number | undefined;
  #asking = false;
  #held: (() => void)[] = [];

  /** @param isUp checks the database */
  watch(log: Logger, isUp: () => Promise<boolean>): void {
    this.#log = log;
    this.#isUp = isUp;
  }

  /**
   * Takes over a log line if its error is due to the database's absence. The database is checked first, because a
   * refused connection to another server looks the same.
   * @param write writes the original line
   */
  takes(error: unknown, write: () => void): boolean {
    if (this.#isUp === undefined || !mayBeAway(error)) return false;
    if (this.#awaySince !== undefined) return true;
    this.#held.push(write);
    if (!this.#asking) void this.#ask(error, this.#isUp);
    return true;
  }

  async #ask(error: unknown, isUp: () => Promise<boolean>): Promise<void> {
    this.#asking = true;
    const up = await isUp().catch(() => false);
    this.#asking = false;
    const held = this.#held.splice(0);
    if (up) {
      for (const write of held) write();
      return;
    }
    this.#awaySince = monotonicMs();
    this.#log?.error(
      { reason: reasonOf(error) },
      "The database is away: changes and most reads are refused until it is back. pmctl db status, pmctl doctor",
    );
    this.#lookAgain(isUp);
  }

  #lookAgain(isUp: () => Promise<boolean>): void {
    const look = async () => {
      if (!(await isUp().catch(() => false))) return this.#lookAgain(isUp);
      const seconds = Math.round((monotonicMs() - (this.#awaySince ?? 0)) / 1000);
      this.#awaySince = undefined;
      this.#log?.info(`The database is back after ${seconds} s`);
    };
    setTimeout(() => void look(), LOOK_AGAIN_MS).unref();
  }
}

function mayBeAway(error: unknown): boolean {
  if (error instanceof Fault) return error.code === "DATABASE_UNAVAILABLE" || mayBeAway(error.cause);
  return classify(error) instanceof ConnectionLost || error instanceof ConnectionLost;
}

/** The innermost message, which is the system's, such as `connect ECONNREFUSED`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
