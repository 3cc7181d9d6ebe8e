import { loadTenant } from "../../config/tenant-file.ts";
import type { PlacedMarket } from "../../config/tenant-files/market-files.ts";
import { feedsOf } from "./case-feeds.ts";
import { loadCases, type PlacedCase } from "./case-files.ts";
import { type RanCase, runCase } from "./run-case.ts";
import type { TenantOfCases } from "./set-up.ts";

/** A tenant's files with its cases, all of them sound. */
export interface TestedTenant extends TenantOfCases {
  tenant: string;
  markets: readonly PlacedMarket[];
  cases: readonly PlacedCase[];
}

/**
 * Reads what a test of a tenant needs: no secrets, and no database.
 *
 * @param file the tenant file
 * @throws ConfigError with every problem of the tenant's files, else of its cases
 */
export function readTestedTenant(tenant: string, file: string): TestedTenant {
  const { config, markets } = loadTenant(file);
  const feeds = feedsOf(config);
  return { tenant, config, markets, feeds, cases: loadCases(file, [...feeds.feeds.keys()]) };
}

/** Runs the cases whose names match. */
export function runCases(tested: TestedTenant, matches: (name: string) => boolean): RanCase[] {
  return tested.cases.filter(({ spec }) => matches(spec.name)).map((placed) => runCase(tested, placed));
}
