import { stringify } from "yaml";

/**
 * Documents as one YAML text. Written for YAML 1.1, which kubectl, Compose and Patroni read: it has more words that mean a
 * boolean, `on` and `no` among them, and a tenant may be called so.
 */
export function yamlText(...documents: readonly unknown[]): string {
  return documents
    .map((document) => stringify(document, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false }))
    .join("---\n");
}
