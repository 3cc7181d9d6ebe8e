import { afterAll, beforeAll, expect } from "vitest";
import { newOperator, type Operator } from "./operator.ts";

/**
 * One operator for all tests of a file: made before the first one, closed after the last.
 * @param prepare what is there when the tests begin
 */
export function sharedOperator(prepare: (operator: Operator) => Promise<unknown> = async () => {}) {
  const operator = {} as Operator;
  beforeAll(async () => {
    Object.assign(operator, await newOperator());
    await prepare(operator);
  });
  afterAll(() => operator.close?.());

  /** What a command prints as data, however it ends. */
  const asked = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await operator.run(...args, "-o", "json");
    return { exitCode, stderr, data: stdout === "" ? undefined : JSON.parse(stdout) };
  };
  /** The same of a command that ends with 0. */
  const done = async (...args: string[]) => {
    const { exitCode, stderr, data } = await asked(...args);
    expect(exitCode, stderr).toBe(0);
    return data;
  };
  return { operator, run: (...args: string[]) => operator.run(...args), asked, done };
}
