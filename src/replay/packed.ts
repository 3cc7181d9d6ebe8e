import { promisify } from "node:util";
import { deserialize, serialize } from "node:v8";
import { deflateRaw, inflateRaw } from "node:zlib";
import { Recomputation, type RecomputationPart } from "./recomputation.ts";

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Parts per piece. A server answers requests between two pieces, which take it some milliseconds each. */
const PARTS = 1000;

/** A recomputation in a tenth of its memory. */
export type Packed = readonly Buffer[];

/** @param recomputation does not change meanwhile */
export async function pack(recomputation: Recomputation): Promise<Packed> {
  const pieces: Buffer[] = [];
  let parts: RecomputationPart[] = [];
  for (const part of recomputation.parts()) {
    parts.push(part);
    if (parts.length < PARTS) continue;
    pieces.push(await deflate(serialize(parts)));
    parts = [];
  }
  return [...pieces, await deflate(serialize(parts))];
}

export async function unpack(packed: Packed): Promise<Recomputation> {
  const recomputation = new Recomputation();
  for (const piece of packed)
    for (const part of deserialize(await inflate(piece)) as RecomputationPart[]) recomputation.restore(part);
  return recomputation;
}
