import type { TestProject } from "vitest/node";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import setup from "../support/global-setup.ts";

/** The database server of the test suite, for programs that run without the suite's runner. */
export async function openCluster(): Promise<{ template: ClusterConnection; close: () => Promise<void> }> {
  let template: ClusterConnection | undefined;
  const provide = (_name: string, connection: ClusterConnection) => {
    template = connection;
  };
  const close = await setup({ provide } as unknown as TestProject);
  if (!template) throw new Error("the set-up of the tests provided no database server");
  return { template, close };
}
