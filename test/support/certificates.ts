import { generate } from "selfsigned";

export interface TestPair {
  cert: string;
  key: string;
}

/** A certificate for these DNS names, or for the tests' address; `days` from now on, or in the past when below zero. */
export async function makePair({ names = ["localhost"], days = 30 } = {}): Promise<TestPair> {
  const from = Date.now() + Math.min(days, 0) * 86_400_000 - 3_600_000;
  const altNames = names.map((value) => ({ type: 2, value }) as const);
  const made = await generate([{ name: "commonName", value: names[0] ?? "" }], {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: new Date(from),
    notAfterDate: new Date(from + Math.abs(days) * 86_400_000),
    extensions: [{ name: "subjectAltName", altNames: [...altNames, { type: 7, ip: "127.0.0.1" }] }],
  });
  return { cert: made.cert, key: made.private };
}
