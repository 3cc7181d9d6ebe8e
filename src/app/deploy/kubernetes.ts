import { createHash } from "node:crypto";
import ipaddr from "ipaddr.js";
import { OPERATOR_FILE } from "../../config/selection/names.ts";
import type { Tenant } from "../../config/tenant-file.ts";
import {
  containerArguments,
  type Deployment,
  externalVariablesOf,
  graceSecondsOf,
  maxConnections,
  memoryLimitMb,
  type RenderedFile,
  serverLoginOf,
} from "./deployment.ts";
import { MARKETS_FILE, marketsText, TENANT_FILE, tenantText } from "./resolved-files.ts";
import { fillTemplate, yaml, yamlLines } from "./template.ts";

/** The ports of pmctl's own requests. */
const WEB_PORTS = [80, 443];

/** The files for `kubectl apply -k`: a CloudNativePG cluster, and the resources of each tenant. */
export function kubernetesFiles(deployment: Deployment): RenderedFile[] {
  const files = [
    { path: "database.yaml", text: database(deployment.tenants) },
    ...deployment.tenants.map((tenant) => ({
      path: `${tenant.config.tenant}.yaml`,
      text: tenantResources(tenant, deployment),
    })),
  ];
  const kustomization = fillTemplate("kubernetes/kustomization.yaml", {
    files: yamlLines(files.map(({ path }) => path)),
  });
  return [{ path: "kustomization.yaml", text: kustomization }, ...files];
}

function database(tenants: Deployment["tenants"]): string {
  const logins = tenants
    .filter(({ config }) => config.database !== "embedded" && config.database.ownerUrl)
    .map(({ config }) => ({
      name: serverLoginOf(config),
      ensure: "present",
      login: true,
      passwordSecret: { name: `database-server-${config.tenant}` },
    }));
  return fillTemplate("kubernetes/database.yaml", {
    connections: maxConnections(tenants),
    logins: yamlLines(logins),
  });
}

function tenantResources(tenant: Tenant, { bin, directory, image, operatorFile }: Deployment): string {
  const { config } = tenant;
  const { server, owner } = externalVariablesOf(config);
  const files: Record<string, string> = {
    [TENANT_FILE]: tenantText(tenant),
    ...(tenant.markets.length > 0 && { [MARKETS_FILE]: marketsText(tenant) }),
    ...(operatorFile !== undefined && { [OPERATOR_FILE]: operatorFile }),
  };
  const mounts = Object.keys(files).map((name) => ({
    name: "config",
    mountPath: name === OPERATOR_FILE ? `${directory}/${name}` : `${directory}/tenants/${config.tenant}/${name}`,
    subPath: name,
    readOnly: true,
  }));
  const { allowPorts, allowPrivate } = config.network;
  const webPorts = [...new Set([...WEB_PORTS, ...allowPorts])].toSorted((a, b) => a - b);
  // The tenant file allows all ports of these ranges.
  const privateRanges = allowPrivate.map((cidr) => ({ ipBlock: { cidr: withoutHostBits(cidr) } }));
  return fillTemplate("kubernetes/tenant.yaml", {
    ...{ bin, directory, image },
    tenant: config.tenant,
    instance: yaml(config.tenant),
    files: yamlLines(files),
    digest: yaml(createHash("sha256").update(JSON.stringify(files)).digest("hex")),
    mounts: yamlLines(mounts),
    arguments: yamlLines(containerArguments(config)),
    applyVariables: fromSecret(config.tenant, [...server, ...owner]),
    serverVariables: fromSecret(config.tenant, server),
    graceSeconds: graceSecondsOf(config),
    memoryMb: config.server.memoryMb,
    memoryLimitMb: memoryLimitMb(config),
    apiPort: yamlLines([
      config.server.tls
        ? { name: "https", port: 443, targetPort: "api" }
        : { name: "http", port: 80, targetPort: "api" },
    ]),
    webPorts: yamlLines(webPorts.map((port) => ({ protocol: "TCP", port }))),
    privateRanges: yamlLines(privateRanges.length === 0 ? [] : [{ to: privateRanges }]),
  });
}

/** Reads each variable from the key of the same name in the tenant's Secret. */
function fromSecret(tenant: string, variables: readonly string[]): string {
  const name = `pmctl-${tenant}`;
  return yamlLines(variables.toSorted().map((key) => ({ name: key, valueFrom: { secretKeyRef: { name, key } } })));
}

/** Kubernetes warns of a range whose address is not the range's first. */
function withoutHostBits(cidr: string): string {
  const [address, bits] = ipaddr.parseCIDR(cidr);
  const first =
    address.kind() === "ipv4" ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  return `${first.toString()}/${bits}`;
}
