import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { tagOf, unlessKnown } from "../conditional.ts";
import type { Exchange } from "../exchange.ts";
import type { Answer, Header } from "../responses.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A text that is compressed once uses the slowest setting; a text that is compressed for each request does not. */
const ENCODERS = {
  br: (text: string, once: boolean) =>
    promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: once ? 11 : 5 } }) as Promise<Bytes>,
  gzip: (text: string, once: boolean) => promisify(gzip)(text, { level: once ? 9 : 6 }) as Promise<Bytes>,
};

export type Encoding = keyof typeof ENCODERS;

/** The names in `Accept` or `Accept-Encoding`, in lower case, with their weights; zero refuses (RFC 9110, 12.4.2). */
export function weightsIn(accepted = ""): ReadonlyMap<string, number> {
  return new Map(
    accepted
      .toLowerCase()
      .split(",")
      .map((entry) => {
        const [name = "", ...parameters] = entry.split(";").map((part) => part.trim());
        const weight = parameters.find((parameter) => parameter.startsWith("q="));
        return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
      }),
  );
}

/** Whether an `Accept-Encoding` names an encoding with a weight above zero. */
export function accepts(accepted: string | undefined, encoding: string): boolean {
  return (weightsIn(accepted).get(encoding) ?? 0) > 0;
}

/** The encoding for this `Accept-Encoding`; undefined for none. */
export function chooseEncoding(accepted: string | undefined): Encoding | undefined {
  return (Object.keys(ENCODERS) as Encoding[]).find((encoding) => accepts(accepted, encoding));
}

/** Compresses an answer's text if this client accepts it. */
export async function compressed(
  answer: Omit<Answer, "body"> & { body: string },
  encoding: Encoding | undefined,
  { once = false } = {},
): Promise<Answer & { body: string | Bytes }> {
  const headers: Header[] = [...(answer.headers ?? []), ["vary", "Accept-Encoding"]];
  if (encoding === undefined || answer.body === "") return { ...answer, headers };
  const body = await ENCODERS[encoding](answer.body, once);
  return { ...answer, body, headers: [...headers, ["content-encoding", encoding]] };
}

/** Answers everyone with the same text: tagged, and compressed once for each encoding. */
export function sameForAll(answer: Omit<Answer, "body"> & { body: string }): (exchange: Exchange) => Promise<Answer> {
  const tag = tagOf(answer.body);
  const tagged = { ...answer, headers: [...(answer.headers ?? []), ["etag", tag] as const] };
  const made = new Map<Encoding | undefined, ReturnType<typeof compressed>>();
  return async (exchange) => {
    const encoding = chooseEncoding(exchange.header("accept-encoding"));
    const kept = made.get(encoding) ?? compressed(tagged, encoding, { once: true });
    made.set(encoding, kept);
    return unlessKnown(exchange, await kept, tag);
  };
}
