// Commands that send the examples of operations.

/** The shell variables with the secrets of the commands. No secret is ever written out. */
export const VARIABLES = {
  PUBLIC_API_KEY: "a public key",
  ADMIN_API_KEY: "an admin key, which acts for users too",
  USER_TOKEN: "the user's JWT",
  WEBHOOK_SECRET: "the secret that the tenant file gives the provider's webhooks",
  STRIPE_WEBHOOK_SECRET: "the signing secret of the endpoint at Stripe",
};

/** The longest body that is written on one line. */
const SHORT = 64;

/**
 * A command that sends the operation's example, for a POSIX shell with curl, and with openssl where a provider signs.
 * @param baseUrl of the tenant
 */
export function curlOf({ path, method, operation }, baseUrl) {
  const body = bodyOf(operation);
  const scheme = schemeOf(operation);
  const isSigned = scheme === "signature" || scheme === "stripeSignature";
  const data = body === undefined ? undefined : isSigned ? '"$BODY"' : quoted(written(body));
  const isStream = operation.operationId === "streamEvents";
  const verb = method === "GET" || (method === "POST" && data !== undefined) ? "" : `-X ${method} `;
  const lines = [
    `curl ${isStream ? "-N " : ""}${verb}${addressOf(path, operation, baseUrl)}`,
    ...credentialsOf(operation, scheme),
    ...(data === undefined ? [] : ['-H "content-type: application/json"', `-d ${data}`]),
  ];
  const prepared = [
    ...(isSigned ? [`BODY=${quoted(JSON.stringify(body))}`] : []),
    ...(scheme === "stripeSignature" ? ["T=$(date +%s)"] : []),
  ];
  return [...prepared, lines.join(" \\\n  ")].join("\n");
}

function bodyOf({ requestBody }) {
  const content = requestBody?.content?.["application/json"];
  return content?.example;
}

/** The first security scheme; the example of an operation with an optional user has none. */
function schemeOf({ security }) {
  const [way] = security;
  return way ? Object.keys(way).join("+") : "";
}

function credentialsOf({ "x-scope": scope }, scheme) {
  const key = `-H "x-api-key: $${scope === undefined ? "PUBLIC" : "ADMIN"}_API_KEY"`;
  const hmac = (text, secret) => `$(printf %s "${text}" | openssl dgst -sha256 -hmac "$${secret}" -r | cut -d' ' -f1)`;
  switch (scheme) {
    case "":
      return [];
    case "apiKey":
      return [key];
    case "apiKey+userToken":
      return [key, '-H "authorization: Bearer $USER_TOKEN"'];
    case "stripeSignature":
      return [`-H "stripe-signature: t=$T,v1=${hmac("$T.$BODY", "STRIPE_WEBHOOK_SECRET")}"`];
    default:
      return [`-H "x-signature: ${hmac("$BODY", "WEBHOOK_SECRET")}"`];
  }
}

/** The address with the example's values in its path, and with the required query fields. */
function addressOf(path, { parameters }, baseUrl) {
  const fields = (parameters ?? []).filter(({ required }) => required === true);
  const filled = path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(fields.find((field) => field.name === name)?.example)),
  );
  const query = new URLSearchParams(
    fields.filter((field) => field.in === "query").map(({ name, example }) => [String(name), String(example)]),
  ).toString();
  const rest = query === "" ? filled : `${filled}?${query}`;
  return query === "" ? `${baseUrl}${rest}` : quoted(`${baseUrl}${rest}`);
}

function written(body) {
  const line = JSON.stringify(body);
  return line.length > SHORT ? JSON.stringify(body, null, 2).replaceAll("\n", "\n  ") : line;
}

/** Quotes a text as one word of a POSIX shell. */
function quoted(text) {
  return /^[\w/.:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
