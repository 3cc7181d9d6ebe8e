import { z } from "zod";
import { ConfigError } from "../../config/config-error.ts";
import { readConfigFile } from "../../config/config-file.ts";
import { checkMarketFile } from "../../config/market-files.ts";
import type { WireInput } from "../../contract/operations.ts";
import { MarketInput } from "../../contract/resources/markets.ts";
import { Fault } from "../../domain/fault.ts";
import type { MarketKind } from "../../domain/market/market-makers.ts";

/** The options of `market create`. */
export interface MarketFlags {
  file?: string;
  question?: string;
  category?: string;
  kind?: MarketKind;
  p0?: number;
  closeAt?: string;
  resolutionRef?: string;
  meta?: Record<string, unknown>;
  liquidity?: number;
}

const REQUIRED = {
  question: "--question",
  category: "--category",
  kind: "--kind",
  p0: "--p0",
  closeAt: "--close-at",
  resolutionRef: "--resolution-ref",
} as const;
const OPTIONAL = { meta: "--meta", liquidity: "--liquidity" } as const;

/**
 * What `POST /v1/markets` takes, from options or from a file. The API itself checks the values.
 *
 * @throws Fault USAGE when options are missing or stand beside a file; ConfigError when the file is not valid
 */
export function marketInput(flags: MarketFlags): WireInput<"createMarket"> {
  const names = { ...REQUIRED, ...OPTIONAL };
  const given = (Object.keys(names) as (keyof typeof names)[]).filter((name) => flags[name] !== undefined);
  if (flags.file !== undefined) {
    const extra = given[0] && names[given[0]];
    if (extra) throw new Fault("USAGE", `The file states the market: leave ${extra} out`);
    return fromFile(flags.file);
  }
  const { question, category, kind, p0, closeAt, resolutionRef, meta = {}, liquidity } = flags;
  if (
    question === undefined ||
    category === undefined ||
    kind === undefined ||
    p0 === undefined ||
    closeAt === undefined ||
    resolutionRef === undefined
  ) {
    const missing = Object.entries(REQUIRED).filter(([name]) => !given.includes(name as keyof typeof names));
    const list = missing.map(([, option]) => option).join(", ");
    throw new Fault("USAGE", `A market needs ${list} too (or all of it in a file: -f FILE)`);
  }
  return { question, category, kind, p0, closeAt, resolutionRef, meta: meta as Meta, liquidityUsd: liquidity };
}

type Meta = NonNullable<WireInput<"createMarket">["meta"]>;

/** A file may hold several markets, which are for `apply`: it knows them by their keys and creates each once. */
function fromFile(file: string): WireInput<"createMarket"> {
  const { markets, problems } = checkMarketFile(readConfigFile(file), file, new Map());
  if (problems.length > 0) throw new ConfigError(problems);
  const [market, ...others] = markets;
  if (!market) throw new Fault("CONFIG_INVALID", `${file} holds no market`);
  if (others.length > 0)
    throw new Fault(
      "USAGE",
      `${file} holds ${markets.length} markets, and create makes one: pmctl apply makes them all`,
    );
  if (market.state !== "open")
    throw new Fault("USAGE", `${file} asks for a suspended market: create it open, then pmctl market suspend`);
  const { source: _source, key: _key, state: _state, ...input } = market;
  return z.encode(MarketInput, input);
}
