import type { BenchServer, Stage } from "./stage.ts";

export interface Question {
  method?: "GET" | "POST";
  path: string;
  /** Asks as this trader; as the operator unless given. */
  trader?: number;
  body?: Record<string, unknown>;
}

/** Asks a server one thing by HTTP. @throws Error for every status but 200 and 201 */
export async function ask(
  { secrets, tokens }: Stage,
  { port }: Pick<BenchServer, "port">,
  { method = "GET", path, trader, body }: Question,
): Promise<string> {
  const access: Record<string, string> =
    trader === undefined
      ? { "x-api-key": secrets.adminKey }
      : { "x-api-key": secrets.publicKey, authorization: `Bearer ${tokens[trader]}` };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...access, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...content,
  });
  const text = await answer.text();
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text;
}
