import { z } from "zod";
import { readConfigFile } from "../../config/bounded-file.ts";
import { ConfigError } from "../../config/config-error.ts";
import { checkMarketFile } from "../../config/tenant-files/market-files.ts";
import type { WireInput } from "../../contract/operations.ts";
import { MarketInput } from "../../contract/resources/markets.ts";
import { Fault } from "../../domain/fault.ts";
import type { MarketKind } from "../../domain/market/market-makers.ts";
import { counted } from "../../domain/text.ts";
import { STANDARD_INPUT } from "../input/standard-input.ts";

export interface MarketFlags {
  file?: string;
  key?: string;
  question?: string;
  category?: string;
  kind?: MarketKind;
  p0?: number;
  closeAt?: string;
  resolutionRef?: string;
  meta?: Record<string, unknown>;
  liquidity?: number;
}

const REQUIRED = ["question", "category", "kind", "p0", "closeAt", "resolutionRef"] as const;
const OPTIONAL = ["key", "meta", "liquidity"] as const;

/**
 * The body of `POST /v1/markets`, from options or from a file. The API itself checks the values.
 *
 * @param standardInput the text for a file named `-`
 * @throws Fault USAGE when options are missing or given with a file; ConfigError for an invalid file
 */
export function marketInput(flags: MarketFlags, standardInput = ""): WireInput<"createMarket"> {
  if (flags.file !== undefined) {
    const extra = [...REQUIRED, ...OPTIONAL].find((name) => flags[name] !== undefined);
    if (extra) {
      const hint = extra === "key" ? ", which names the market here; --admin-key chooses the admin key" : "";
      throw new Fault("USAGE", `The file states the market: leave out ${optionOf(extra)}${hint}`);
    }
    if (flags.file === STANDARD_INPUT.option) return fromText(standardInput, STANDARD_INPUT.name);
    return fromText(readConfigFile(flags.file), flags.file);
  }
  if (!isComplete(flags)) {
    const missing = REQUIRED.filter((name) => flags[name] === undefined).map(optionOf);
    throw new Fault("USAGE", `A market also needs ${missing.join(", ")} (or a file that states all of it: -f FILE)`);
  }
  const { question, category, kind, p0, closeAt, resolutionRef, meta = {}, liquidity, key } = flags;
  return { question, category, kind, p0, closeAt, resolutionRef, meta: meta as Meta, liquidityUsd: liquidity, key };
}

type Meta = NonNullable<WireInput<"createMarket">["meta"]>;

/** Whether required options are missing and no file states them. */
export function isIncomplete(flags: MarketFlags): boolean {
  return flags.file === undefined && !isComplete(flags);
}

function isComplete(flags: MarketFlags): flags is MarketFlags & Required<Pick<MarketFlags, (typeof REQUIRED)[number]>> {
  return REQUIRED.every((name) => flags[name] !== undefined);
}

/** Turns `closeAt` into `--close-at`. */
function optionOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A file with several markets is for `apply`, which knows them by their keys and creates each once. */
function fromText(text: string, file: string): WireInput<"createMarket"> {
  const { markets, problems } = checkMarketFile(text, file, new Map());
  if (problems.length > 0) throw new ConfigError(problems);
  const [market, ...others] = markets;
  if (!market) throw new Fault("CONFIG_INVALID", `${file} holds no market`);
  if (others.length > 0)
    throw new Fault(
      "USAGE",
      `${file} holds ${counted(markets.length, "market")}, and create makes one: use pmctl apply for all of them`,
    );
  if (market.state !== "open")
    throw new Fault("USAGE", `${file} asks for a suspended market: create it open, then run pmctl market suspend`);
  const { source: _source, state: _state, moved: _moved, import: imported, ...input } = market;
  if (imported !== undefined)
    throw new Fault("USAGE", `${file} takes over the market ${imported}: use pmctl apply, create makes new ones`);
  return z.encode(MarketInput, input);
}
