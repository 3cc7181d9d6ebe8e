import { onfido } from "./onfido.ts";
import { persona } from "./persona.ts";
import type { InboundProvider } from "./provider.ts";
import { sumsub } from "./sumsub.ts";
import { veriff } from "./veriff.ts";

const PROVIDERS = { sumsub, persona, veriff, onfido } as const;

/** The adapter that the tenant file chose. */
export function kycProvider({
  provider,
  secrets,
}: {
  provider: keyof typeof PROVIDERS;
  secrets: readonly string[];
}): InboundProvider {
  return PROVIDERS[provider](secrets);
}
