import type { Api, WireInput, WireResult } from "../../../contract/operations.ts";
import { isSame, type Json } from "../../../domain/audit/audit-link.ts";
import { isMapping } from "../../../domain/json/mapping.ts";

type Apply = WireResult<"getApply">;
type Config = WireResult<"getConfig">;
type Document = WireInput<"applyConfig">["document"];

/** One value that a rollback brings back. */
export interface BroughtBack {
  field: string;
  from: Json;
  to: Json;
}

export interface Rollback {
  input: WireInput<"applyConfig">;
  fields: BroughtBack[];
  /** Names of keys in the earlier document that are other keys now: values of keys are not on record. */
  keysLeft: string[];
}

/** Reads what a rollback to an apply would write. It is refused if anything changes the configuration meanwhile. */
export async function readRollback(api: Api, seq: number): Promise<Rollback> {
  const [apply, config, stated] = await Promise.all([api.getApply({ seq }), api.getConfig({}), statedSince(api, seq)]);
  return rollbackTo(apply, config, stated);
}

/**
 * The sections of the policy that later applies changed, which go back too although the earlier document may not state
 * them.
 */
async function statedSince(api: Api, seq: number): Promise<Set<string>> {
  const sections = new Set<string>();
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await api.listApplies({ limit: 200, cursor });
    const later = page.items.filter((each) => each.seq > seq);
    for (const field of later.flatMap(({ policy }) => policy)) sections.add(field.split(".")[0] ?? field);
    cursor = later.length < page.items.length ? null : page.nextCursor;
  }
  return sections;
}

/**
 * An apply of an earlier document, with every live value overwritten that it states. Keys stay as they are, and capital
 * only rises.
 */
export function rollbackTo(apply: Apply, config: Config, statedLater: ReadonlySet<string>): Rollback {
  const earlier = apply.document as Document;
  const { adopted = {} } = earlier;
  const kept = (field: string, stated: Json): Json =>
    Object.hasOwn(adopted, field) ? (adopted[field] as Json) : stated;
  const sections = new Set([
    ...[earlier.policy, config.document?.policy].flatMap((policy) => Object.keys(policy ?? {})),
    ...statedLater,
  ]);
  const then = apply.livePolicy as unknown as Record<string, Json>;
  const now = config.policy as unknown as Record<string, Json>;
  const changed = [...sections].filter(
    (name) => Object.hasOwn(then, name) && !isSame(then[name] as Json, now[name] as Json),
  );
  const policy = Object.fromEntries(changed.map((name) => [name, then[name] as Json]));
  const kycRequired = kept("kyc.required", earlier.kyc.required) as boolean;
  const liquidityUsd = kept("markets.liquidityUsd", earlier.markets.liquidityUsd) as number;
  const capitalUsd = Math.max(config.capitalUsd, earlier.treasury.capitalUsd);
  const marketStates = config.markets.flatMap(({ id, key, formerKeys, status }) => {
    const stated = [key, ...formerKeys].find((name) => Object.hasOwn(earlier.declared, name));
    if (stated === undefined || (status !== "open" && status !== "suspended")) return [];
    const to = kept(`markets.${stated}`, earlier.declared[stated]?.state ?? status) as "open" | "suspended";
    return to === status ? [] : [{ marketId: id, from: status, to, key }];
  });
  const settings = [
    { field: "kyc.required", from: config.kycRequired, to: kycRequired },
    { field: "markets.liquidityUsd", from: config.liquidityUsd, to: liquidityUsd },
    { field: "treasury.capitalUsd", from: config.capitalUsd, to: capitalUsd },
  ];
  const keyring = isMapping(config.document?.keyring) ? config.document.keyring : earlier.keyring;
  return {
    input: {
      ...{ tenant: config.tenant, ifVersion: config.version, policy, kycRequired, liquidityUsd, capitalUsd },
      ...{ keys: [], revoke: [], markets: [], feeds: {}, adopted: [] },
      marketStates: marketStates.map(({ key: _, ...state }) => state),
      document: { ...earlier, policy: { ...earlier.policy, ...policy }, keyring, adopted: {} } as Document,
      documentSha256: String(apply.fileSha256),
      gitCommit: apply.gitCommit,
      rollbackTo: apply.seq,
    },
    fields: [
      ...changed.map((name) => ({ field: `policy.${name}`, from: now[name] as Json, to: then[name] as Json })),
      ...settings.filter((each) => each.from !== each.to),
      ...marketStates.map(({ key, from, to }) => ({ field: `markets.${key}`, from, to })),
    ],
    keysLeft: Object.keys(earlier.keyring).filter(
      (name) => earlier.keyring[name] !== (keyring as Record<string, Json>)[name],
    ),
  };
}
