import { afterAll, beforeAll } from "vitest";
import type { RunningServer } from "../../../src/server/server.ts";
import { type Backend, openBackend, serve } from "./harness.ts";
import { type ServedOptions, type ServedTenant, serveTenant } from "./tenant.ts";

/** A tenant that is served while the tests of a file, or of a group, run. Its fields are there once they begin. */
export function tenantOfTests(options: ServedOptions = {}): ServedTenant {
  const tenant = {} as ServedTenant;
  beforeAll(async () => {
    Object.assign(tenant, await serveTenant(options));
  });
  afterAll(() => tenant.close?.());
  return tenant;
}

/** A database of a server, while the tests of a file run. Its fields are there once they begin. */
export function backendOfTests(): Backend {
  const backend = {} as Backend;
  beforeAll(async () => {
    Object.assign(backend, await openBackend());
  });
  afterAll(() => backend.close?.());
  return backend;
}

/** A server of these handlers, and its database, while the tests of a file run. Their fields are there once they begin. */
export function serverOfTests(...asked: Parameters<typeof serve> extends [unknown, ...infer Rest] ? Rest : never) {
  const [backend, server] = [backendOfTests(), {} as RunningServer];
  beforeAll(async () => {
    Object.assign(server, await serve(backend, ...asked));
  });
  afterAll(() => server.close?.());
  return { backend, server };
}
