import { inject } from "vitest";
import { copyDatabase, type TestDatabase } from "./database-copy.ts";

export type { TestDatabase } from "./database-copy.ts";

/** Copies the template database of the run's shared server, whose migrations ran once in the global setup. */
export function createTestDatabase(): Promise<TestDatabase> {
  return copyDatabase(inject("postgres"));
}
