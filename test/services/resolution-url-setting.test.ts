import { expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { parseTenantFile } from "../../src/config/tenant-file.ts";
import { oracleSetup } from "../../src/services/oracle/feeds.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { tenantText } from "../config/support.ts";
import { configOf } from "../engine/world.ts";
import { createTestDatabase } from "../support/postgres.ts";

const RANGES = ["10.0.0.0/8", "::1/128"];

const CASES: [address: string, legal: boolean, legalWhenPrivateIsAllowed: boolean][] = [
  ["https://oracle.acme.example/resolve?a=b", true, true],
  ["https://oracle.acme.example", true, true],
  ["https://oracle.acme.example:443/", true, true],
  ["https://10.1.2.3:8443/resolve", false, true],
  ["https://10.1.2.3/resolve", false, true],
  ["https://192.168.0.9/resolve", false, false],
  ["https://169.254.169.254/latest", false, false],
  ["https://[::1]/resolve", false, true],
  ["https://[::ffff:192.168.0.9]/resolve", false, false],
  ["https://93.184.216.34/resolve", true, true],
  ["https://93.184.216.34:8443/resolve", false, false],
  ["http://10.1.2.3:8080/resolve", false, true],
  ["http://[::1]:81/resolve", false, true],
  ["http://192.168.0.9/resolve", false, false],
  ["http://oracle.internal/resolve", false, true],
  ["https://[half/resolve", false, false],
  ["https://oracle.acme.example:99999/", false, false],
  ["https://user:word@oracle.acme.example/", false, false],
  ["https://oracle.acme.example/?apikey=word", false, false],
  ["ftp://oracle.acme.example/", false, false],
  ["oracle", false, false],
];

function fileTakes(address: string, allowPrivate: string[]): boolean {
  const sections = {
    network: JSON.stringify({ allowPrivate }),
    policy: JSON.stringify({ resolution_url: address }),
  };
  try {
    parseTenantFile(tenantText(sections), "tenants/acme/tenant.yaml");
    return true;
  } catch {
    return false;
  }
}

test("PUT /v1/policy takes exactly the resolution_url that the tenant file takes; null and an empty text clear it", async () => {
  const database = await createTestDatabase();
  const open = (allowPrivate: string[]) =>
    openTenant({
      tenantId: "acme",
      connection: database.server,
      auditSecret: "a".repeat(16),
      oracle: oracleSetup({}, [], { allowPrivate }),
    });
  try {
    for (const allowPrivate of [[], RANGES]) {
      const services = await open(allowPrivate);
      try {
        await services.sequencer.submit({ command: configOf(), actor: "cli:test" });
        const api = localApi(services.handlers, { actor: "admin:ops" });
        for (const [address, legal, legalWhenAllowed] of CASES) {
          const expected = allowPrivate.length > 0 ? legalWhenAllowed : legal;
          const taken = await api.updatePolicy({ resolution_url: address }).then(
            (policy) => policy.resolution_url === address,
            (fault: { code: string }) => {
              expect(fault.code).toBe("BAD_REQUEST");
              return false;
            },
          );
          expect({ address, door: taken, file: fileTakes(address, allowPrivate) }).toEqual({
            address,
            door: expected,
            file: expected,
          });
        }
        for (const nothing of [null, ""]) {
          await api.updatePolicy({ resolution_url: "https://oracle.acme.example/" });
          expect(await api.updatePolicy({ resolution_url: nothing })).toMatchObject({ resolution_url: null });
        }
      } finally {
        await services.close();
      }
    }
  } finally {
    await database.drop();
  }
});
