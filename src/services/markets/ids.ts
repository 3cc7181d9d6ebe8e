import type { Input, Result } from "../../contract/operations.ts";
import { MOST_REFS } from "../../contract/resources/ids.ts";
import { Fault } from "../../domain/fault.ts";
import { beginningOf } from "../../domain/market/short-id.ts";
import { findIds } from "../../queries/markets/ids.ts";
import type { ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";

/** Finds what operators name by a part of its id. */
export function idHandlers(context: ServiceContext) {
  return { findIds: (input) => find(context, input) } satisfies Handlers;
}

async function find({ pool }: ServiceContext, { kind, refs }: Input<"findIds">): Promise<Result<"findIds">> {
  const wanted = [...new Set(refs.split(",").filter((ref) => ref !== ""))];
  if (wanted.length > MOST_REFS) throw new Fault("BAD_REQUEST", `refs: at most ${MOST_REFS}`);
  const found = await pool.read((sql) =>
    findIds(
      sql,
      kind,
      wanted.map((ref) => ({ ref, beginning: beginningOf(kind, ref) ?? null })),
    ),
  );
  return [...found].map(([ref, matches]) => ({ ref, matches }));
}
