import { type FileKey, isSecret, keysOf } from "../../src/config/schema/schema-keys.ts";
import { cell, code, filledTable, NOTE } from "./markdown.ts";

const TITLES: Readonly<Record<string, [title: string, about: string]>> = {
  tenant: ["Tenant file", "Keys of `tenants/NAME/tenant.yaml`."],
  market: ["Market file", "Keys of a market in `tenants/NAME/markets/*.yaml`."],
  case: ["Cases", "Keys of a case in `tenants/NAME/tests/*.yaml`, which `pmctl test` runs."],
  fleet: ["Fleet file", "Keys of `fleet.yaml`, which `pmctl fleet` carries out."],
  pmctl: ["Operator's file", "Keys of `pmctl.yaml`."],
};

/** Where a secret is kept: the same keys wherever one is. */
const SECRET_KEYS = ["env", "file", "exec", "sops", "path"];

const SECRETS = `A key of the type *secret* takes one of these mappings:

| key | what it is |
| --- | --- |
| \`env: NAME\` | the environment variable that holds it |
| \`file: PATH\` | the file that holds it, relative to the tenant's folder |
| \`exec: [PROGRAM, …]\` | the program that prints it; it needs \`--allow-exec\` |
| \`sops: PATH\`, \`path: KEY\` | the SOPS file, and the place in it |`;

/** Every key of a kind of file, by the first word of its path. */
export function keysPage(file: string): string {
  const [title = "", about = ""] = TITLES[file] ?? [];
  const sections = onceListed(keysOf(file).keys).map((key) => {
    const lines = linesOf(key);
    const isLeaf = lines.length === 1;
    return [
      `## ${withoutFile(key.path)}`,
      ...(isLeaf ? [] : [cell(key.description)]),
      keyTable(isLeaf || key.default !== undefined || key.required ? lines : lines.slice(1)),
    ].join("\n\n");
  });
  const secrets = linesOf(keysOf(file)).some(({ keys }) => isSecret(keys)) ? [SECRETS] : [];
  return `${[
    `# ${title}`,
    `${about} \`pmctl explain ${file}.KEY\` prints one of them. ${NOTE}`,
    ...secrets,
    ...sections,
  ].join("\n\n")}\n`;
}

/** The key and all below it, without the keys of each secret. */
function linesOf(key: FileKey): FileKey[] {
  const below = isSecret(key.keys) ? key.keys.filter(({ path }) => !SECRET_KEYS.includes(lastOf(path))) : key.keys;
  return [key, ...onceListed(below).flatMap(linesOf)];
}

/** Where one item may stand for a list of one, its keys are those of the list's items. */
function onceListed(keys: readonly FileKey[]): FileKey[] {
  return [...new Map(keys.toSorted(byList).map((key) => [key.path.replaceAll("[]", ""), key])).values()];
}

const byList = (one: FileKey, other: FileKey): number =>
  Number(one.path.includes("[]")) - Number(other.path.includes("[]"));

const lastOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1);

const withoutFile = (path: string): string => path.slice(path.indexOf(".") + 1);

function typeOf(key: FileKey): string {
  const type = isSecret(key.keys) ? key.type.replace("mapping", "secret") : key.type;
  return `${type}${key.required ? ", required" : ""}`;
}

function keyTable(keys: readonly FileKey[]): string {
  return filledTable(
    ["key", "type", "default", "example", "what it is", "loosens"],
    keys.map((key) => [
      code(withoutFile(key.path)),
      cell(typeOf(key)),
      code(key.default === undefined ? "" : JSON.stringify(key.default)),
      code(key.examples.length === 0 ? "" : JSON.stringify(key.examples[0])),
      cell(key.description),
      cell(key.loosens ?? ""),
    ]),
  );
}
