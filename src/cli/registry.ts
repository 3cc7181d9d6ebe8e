import type { CommandModule } from "./command.ts";

/** A first word of the command line. Its module is loaded only when the line holds the word. */
export interface Noun {
  name: string;
  summary: string;
  load: () => Promise<CommandModule>;
}

/** Every command, in the order of the help text. A new one is a line here and a module in `commands/`. */
export const NOUNS: readonly Noun[] = [
  { name: "init", summary: "write the files of a new tenant", load: () => import("./commands/init.ts") },
  {
    name: "demo",
    summary: "a tenant with markets, money and a server, to look around",
    load: () => import("./commands/demo.ts"),
  },
  { name: "validate", summary: "check tenant files", load: () => import("./commands/validate.ts") },
  { name: "apply", summary: "bring a tenant to what its file says", load: () => import("./commands/apply.ts") },
  { name: "serve", summary: "serve a tenant over HTTP", load: () => import("./commands/serve.ts") },
  { name: "tenant", summary: "the tenants of this directory", load: () => import("./commands/tenant.ts") },
  { name: "key", summary: "the API keys of a tenant", load: () => import("./commands/key.ts") },
  { name: "policy", summary: "the limits that a tenant trades under", load: () => import("./commands/policy.ts") },
  {
    name: "market",
    summary: "create, suspend, settle and look at markets",
    load: () => import("./commands/market.ts"),
  },
  { name: "hedge", summary: "open hedge tags by symbol", load: () => import("./commands/hedge.ts") },
  { name: "trade", summary: "quote, and trade on behalf of a user", load: () => import("./commands/trade.ts") },
  { name: "position", summary: "what a user holds", load: () => import("./commands/position.ts") },
  { name: "user", summary: "users, their standing and their tokens", load: () => import("./commands/user.ts") },
  {
    name: "suitability",
    summary: "a user's suitability assessment",
    load: () => import("./commands/suitability.ts"),
  },
  { name: "funding", summary: "withdrawals, and credits by hand", load: () => import("./commands/funding.ts") },
  { name: "report", summary: "volume, revenue, traders and funding", load: () => import("./commands/report.ts") },
  { name: "risk", summary: "what each open market may cost", load: () => import("./commands/risk.ts") },
  { name: "audit", summary: "the audit log and its verification", load: () => import("./commands/audit.ts") },
  { name: "reconcile", summary: "check the whole ledger", load: () => import("./commands/reconcile.ts") },
  { name: "embed", summary: "the widget on other people's pages", load: () => import("./commands/embed.ts") },
  { name: "db", summary: "the embedded database", load: () => import("./commands/db.ts") },
  { name: "version", summary: "print the version", load: () => import("./commands/version.ts") },
];
