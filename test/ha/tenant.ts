import type { Operator } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";

/** The tenant `acme` in the database that `ACME_DATABASE_URL` of `.env` names. Returns the ids of its markets. */
export async function openTenant({ run, edit }: Operator): Promise<string[]> {
  const must = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await run(...args);
    if (exitCode !== 0) throw new Error(`pmctl ${args.join(" ")} ended with ${exitCode}: ${stderr}`);
    return stdout;
  };
  await must("init", "acme");
  await edit("acme", (text) =>
    `${withRateLimit(text, 1_000_000)}database: { url: { env: ACME_DATABASE_URL } }\nkyc: { required: false }\n`.replace(
      '["US"]',
      "[]",
    ),
  );
  await must("apply", "acme");
  const marketIds: string[] = [];
  for (const kind of ["cpmm", "lmsr"]) {
    const created = await must(
      ...["market", "create", "--question", "Will it hold?", "--category", "test", "--kind", kind, "--p0", "0.5"],
      ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "--liquidity", "20000", "-o", "json"],
    );
    marketIds.push((JSON.parse(created) as { id: string }).id);
  }
  return marketIds;
}
