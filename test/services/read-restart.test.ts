import { expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { GRANTS } from "../../src/ledger/schema.ts";
import { connect } from "../../src/postgres/connect.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { clusterIn, createDirectory } from "../postgres/embedded-support.ts";
import { applyTenant } from "../support/tenant.ts";

/** Longer than any read may take, a restart of the database included: what takes longer hangs. */
const PATIENCE_MS = 60_000;

const inTime = <T>(work: PromiseLike<T>): Promise<T> =>
  Promise.race([work, new Promise<never>((_, reject) => setTimeout(() => reject(new Error("it hangs")), PATIENCE_MS))]);

test("reads go on when the database was restarted: none hangs, none gets another's answer, the first one is answered", {
  timeout: 600_000,
}, async () => {
  const cluster = clusterIn(await createDirectory());
  await cluster.start();
  await cluster.createDatabase("acme");
  const connection = cluster.connection("acme");
  const owner = connect(connection, { name: "owner", max: 1 });
  await migrate(owner, { grants: GRANTS });
  await owner.end({ timeout: 5 });
  const services = await openTenant({ tenantId: "acme", connection, auditSecret: "an audit secret, long enough" });
  await applyTenant(services.sequencer);
  const api = localApi(services.handlers, { actor: "cli:test", user: { id: "u" } });

  let asked = 0;
  const wrong: string[] = [];
  /** A question that only its own answer fits. */
  const ask = async (): Promise<"answered" | "lost"> => {
    asked += 1;
    const number = asked;
    const answered = inTime(services.pool.read((sql) => sql`select ${number}::int as number, pg_sleep(0.001)`)).then(
      ([row]) => {
        if (row?.number !== number) wrong.push(`${number} got ${row?.number}`);
        return "answered" as const;
      },
      (error: Error) => {
        if (error.message === "it hangs") wrong.push(`${number} hangs`);
        return "lost" as const;
      },
    );
    return answered;
  };

  const admin = connect(connection, { name: "admin", max: 1 });
  for (let round = 0; round < 20; round++) {
    // Sent before, during and after the end of the connections.
    const readers = Array.from({ length: 12 }, async () => {
      for (let question = 0; question < 20; question++) if ((await ask()) === "lost") wrong.push(`${round} lost`);
    });
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pmctl reader'`;
    await Promise.all(readers);
    expect(wrong).toEqual([]);
  }
  await admin.end({ timeout: 5 });

  for (let round = 0; round < 2; round++) {
    let over = false;
    const readers = Array.from({ length: 20 }, async () => {
      while (!over) if ((await ask()) === "lost") await new Promise((resolve) => setTimeout(resolve, 5));
    });
    await cluster.stop();
    await cluster.start();
    over = true;
    await Promise.all(readers);
    expect(wrong).toEqual([]);
    expect(await inTime(api.getPolicy({}))).toMatchObject({ feeBps: 100 });

    // Nobody reads while it is restarted: the connections end unnoticed.
    await cluster.stop();
    await cluster.start();
    expect(await Promise.all(Array.from({ length: 20 }, ask))).toEqual(Array(20).fill("answered"));
    expect(wrong).toEqual([]);
  }
  await services.close();
  await cluster.stop();
});
