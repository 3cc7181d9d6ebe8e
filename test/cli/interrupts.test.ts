import { EventEmitter } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { Interrupts } from "../../src/cli/input/interrupts.ts";

/** A process that ends by noting how. */
function listening() {
  const said: (string | number)[] = [];
  const process = Object.assign(new EventEmitter(), { exit: (code: number) => said.push(code) });
  const interrupts = new Interrupts(process as unknown as NodeJS.Process);
  interrupts.listen();
  return { interrupts, said, press: () => process.emit("SIGINT"), stop: () => process.emit("SIGTERM") };
}

test("an operator who interrupts a change is told where to see whether it is in, then it ends with 130", () => {
  const { interrupts, said, press } = listening();
  interrupts.beforeExit(() => said.push("look there"));
  press();
  expect(said).toEqual(["look there", 130]);
});

test("a command that changes nothing ends without a word, and Ctrl-C within another program is not ours", () => {
  const { interrupts, said, press } = listening();
  const release = interrupts.hold();
  press();
  expect(said).toEqual([]);
  release();
  press();
  expect(said).toEqual([130]);
});

test("a command that serves ends by itself: it is told once, and says nothing before its exit", () => {
  const { interrupts, said, press } = listening();
  interrupts.beforeExit(() => said.push("look there"));
  const signal = interrupts.take();
  press();
  expect([signal.aborted, said]).toEqual([true, []]);
  expect(interrupts.exitCode).toBe(130);
});

test("what serves ends with 0 when a supervisor stops it, and with 130 by Ctrl-C, in whichever order both arrive", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { interrupts, stop, press } = listening();
  interrupts.take();
  stop();
  expect(interrupts.exitCode).toBe(0);
  press();
  expect(interrupts.exitCode).toBe(130);
});

test("while a server drains, the next signal ends that alone, and the one after it the process", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { interrupts, said, press } = listening();
  interrupts.take();
  vi.advanceTimersByTime(600);
  press();
  await interrupts.during(async (next) => {
    press();
    expect(next.aborted).toBe(false);
    vi.advanceTimersByTime(600);
    press();
    expect(next.aborted).toBe(true);
  });
  press();
  expect(said).toEqual([]);
  vi.advanceTimersByTime(600);
  press();
  expect(said).toEqual([130]);
});
