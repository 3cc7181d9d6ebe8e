/** The name of the operator's file, beside `tenants/`. */
export const OPERATOR_FILE = "pmctl.yaml";

/** The name of the fleet's file, beside `tenants/`. */
export const FLEET_FILE = "fleet.yaml";

/** The form of a tenant's id, and the sentence about another form. */
export const TENANT_ID = {
  pattern: /^[a-z][a-z0-9-]{0,39}$/,
  rule: "must be a lower-case letter, then at most 39 of a-z, 0-9 and -",
};
